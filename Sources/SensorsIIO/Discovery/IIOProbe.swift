internal import CIIO
internal import Glibc
internal import Platform
internal import Sensors

/// A one-time search for IIO hardware, for `odographd check` and `odographd sensors`.
public enum IIOProbe {
  /// Opens a context, lists its sensors and closes it. Does not power up hardware.
  ///
  /// - Parameters:
  ///   - limit: the time limit in s for a machine that does not answer.
  /// - Returns: the inventory; its `devices` are empty on a machine with IIO but without a sensor of a
  ///   supported kind.
  /// - Throws: `IIOError` with the URI and the remedy.
  public static func inventory(
    _ configuration: IIOConfiguration, limit: Double = 10
  ) throws(IIOError) -> IIOInventory {
    let uri = configuration.uri
    let answer = BoundedQueue<Result<IIOInventory, IIOError>>(capacity: 1)
    // libiio cannot abort a connection attempt, so a separate thread waits, which can be abandoned.
    do {
      _ = try DedicatedThread.start(name: "iio-probe") { answer.push(open(configuration)) }
    } catch {
      throw IIOError(
        operation: .open, object: uri, code: error.code, reason: "\(error)")
    }
    guard case .element(let result) = answer.pop(until: .after(limit)) else {
      throw IIOError(
        operation: .open, object: uri,
        reason:
          "no answer within \(SamplingFrequencies.text(limit)) s; check that the host is up and reachable")
    }
    return try result.get()
  }

  private static func open(_ configuration: IIOConfiguration) -> Result<IIOInventory, IIOError> {
    BrokenPipe.block()
    do throws(IIOError) {
      let context = try Context(uri: configuration.uri)
      return .success(try IIOInventory(context, configuration: configuration))
    } catch {
      return .failure(error)
    }
  }
}

extension IIOInventory {
  /// Lists the devices of a context. Reads attributes but no values, so that no hardware is powered up.
  package init(_ context: borrowing Context, configuration: IIOConfiguration) throws(IIOError) {
    uri = context.uri
    machine = context.contextDescription
    devices = []
    triggers = []
    for index in 0..<context.deviceCount {
      let found = try context.withDevice(at: index) { device throws(IIOError) -> (Device?, String?) in
        if device.isTrigger { return (nil, device.name) }
        return (try Device(device, configuration: configuration), nil)
      }
      if let device = found.0 { devices.append(device) }
      if let trigger = found.1 { triggers.append(trigger) }
    }
  }
}

extension IIOInventory.Device {
  /// Creates the entry of a device; nil if it has no sensor of any kind, for example if it is an
  /// analogue-digital converter.
  package init?(
    _ device: borrowing CaptureDevice, configuration: IIOConfiguration
  ) throws(IIOError) {
    identifier = device.identifier
    name = device.name
    label = device.label
    sensors = []
    for kind in SensorKind.iioKinds.sorted() {
      guard let channels = try kind.channels(of: device) else { continue }
      // A driver that does not report a scale or rate during its startup still has the sensor.
      sensors.append(
        try IIOInventory.Sensor(device, kind: kind, channels: channels, configuration: configuration))
    }
    guard !sensors.isEmpty else { return nil }
    hasTimestamp =
      device.hasChannel("timestamp")
      ? try device.withChannel("timestamp") { channel throws(IIOError) in channel.isScanElement } : false
    switch device.triggerState {
    case .notNeeded: (trigger, needsTrigger) = (nil, false)
    case .unset: (trigger, needsTrigger) = (nil, true)
    case .set(let name): (trigger, needsTrigger) = (name, true)
    }
  }
}

extension SensorKind {
  /// Returns the channels of this kind that a device has; nil if it has none.
  ///
  /// A raw temperature or pressure without a scale has no unit, so that a sensor that must be polled has no reading.
  fileprivate func channels(of device: borrowing CaptureDevice) throws(IIOError) -> [String]? {
    for identifiers in channelIdentifiers where identifiers.allSatisfy({ device.hasChannel($0) }) {
      guard self == .thermometer || self == .barometer else { return identifiers }
      let isScaled = try device.withChannel(identifiers[0]) { channel throws(IIOError) in
        channel.isScanElement || channel.hasAttribute("scale") || channel.hasAttribute("input")
      }
      if isScaled { return identifiers }
    }
    return nil
  }
}

/// An alias for libiio's device, because inside `IIOInventory` the name `Device` means a nested type.
package typealias CaptureDevice = Device

extension IIOInventory.Sensor {
  init(
    _ device: borrowing CaptureDevice, kind: SensorKind, channels: [String], configuration: IIOConfiguration
  ) throws(IIOError) {
    self.kind = kind
    self.channels = channels
    let first = channels[0]
    isBuffered = try device.withChannel(first) { channel throws(IIOError) in channel.isScanElement }
    let uri = device.uri
    var problem: String?
    /// Returns nil for an attribute that cannot be read: the other sensors of the context may work.
    func known<Value>(_ read: () throws(IIOError) -> Value?) throws(IIOError) -> Value? {
      do throws(IIOError) { return try read() } catch {
        guard !error.isLoss(ofContext: uri) else { throw error }
        problem = problem ?? "\(error)"
        return nil
      }
    }
    scale = try known { () throws(IIOError) in
      try device.withChannel(first) { channel throws(IIOError) in try channel.number("scale") }
    }.map { $0 * kind.unitFactor }
    range = try known { () throws(IIOError) in
      try device.withChannel(first) { channel throws(IIOError) in try channel.range(of: kind) }
    }
    let offered = try known { () throws(IIOError) in
      try device.rateAttribute("sampling_frequency_available", channel: first)
    }
    frequencies = offered.map { SamplingFrequencies(parsing: $0) } ?? .unknown
    let rate = try known { () throws(IIOError) in
      try device.rateAttribute("sampling_frequency", channel: first)
    }
    frequency = rate.flatMap { Double($0) }
    let texts = try known { () throws(IIOError) in
      try device.mountingTexts(of: kind, channel: first)
    }
    (mountMatrix, mountSource) = device.mounting(texts ?? [], configuration: configuration)
    self.problem = problem
    if kind == .accelerometer, let demand = configuration.accelerometerRange {
      let sensor = self
      rangeProblem = try known { () throws(IIOError) in
        try device.rangeProblem(of: sensor, range: sensor.range, for: demand)
      }?.description
    }
  }
}

extension IIOError {
  /// True if the connection to the context is lost. Any other failure concerns one device: a chip that does not
  /// answer on its bus causes `ENXIO` or `ETIMEDOUT`, for example.
  fileprivate func isLoss(ofContext uri: String) -> Bool {
    guard !uri.hasPrefix("local:"), isLoss else { return false }
    return uri.hasPrefix("ip:") ? code != ENODEV && code != ENXIO : true
  }
}

extension Channel {
  /// Returns the largest value of an axis that the converter can represent; nil if unknown. It is taken from
  /// `raw_available` if the driver has this attribute (Documentation/ABI/testing/sysfs-bus-iio), otherwise
  /// from the bits of a sample. Converters of inertial sensors have at most 16 bits. Wider samples are
  /// computed by software, and their range is unknown.
  func range(of kind: SensorKind) throws(IIOError) -> Double? {
    let plausible: ClosedRange<Double>
    switch kind {
    // Plausible ranges: 1.5 to 500 g, and 100 to 4000 °/s.
    case .accelerometer: plausible = 14...5000
    case .gyroscope: plausible = 1.7...70
    case .magnetometer, .barometer, .thermometer, .positioning, .wifi, .cellular: return nil
    }
    guard let scale = try number("scale") else { return nil }
    let offset = try number("offset") ?? 0
    guard let raw = try lastRawValue() else { return nil }
    let range = abs((raw + offset) * scale * kind.unitFactor)
    return plausible.contains(range) ? range : nil
  }

  /// Returns the largest raw value; nil if unknown.
  func lastRawValue() throws(IIOError) -> Double? {
    if let text = try attribute("raw_available"), text.contains("[") {
      let numbers = text.split { " \t\n,[]".contains($0) }.compactMap { Double($0) }
      return numbers.count == 3 && numbers[2].isFinite ? numbers[2] : nil
    }
    guard isScanElement else { return nil }
    let format = try scanFormat()
    guard format.isSigned, (8...16).contains(format.bits) else { return nil }
    return Double(1 << (format.bits - 1) - 1)
  }
}

extension Device {
  /// Returns a rate's attribute: the channel's own, otherwise the device's; nil if there is none.
  func rateAttribute(_ name: String, channel: String) throws(IIOError) -> String? {
    if let own = try withChannel(channel, { channel throws(IIOError) in try channel.attribute(name) }) {
      return own
    }
    return try attribute(name)
  }

  /// Returns the mount matrices of a kind of sensor as the device's attributes contain them.
  fileprivate func mountingTexts(of kind: SensorKind, channel: String) throws(IIOError) -> [String?]? {
    var texts = [
      try withChannel(channel) { channel throws(IIOError) in try channel.attribute("mount_matrix") }
    ]
    for name in ["in_\(kind.attributeStem)_mount_matrix", "in_mount_matrix", "mount_matrix"] {
      texts.append(try attribute(name))
    }
    // libiio interprets `in_mount_matrix`, which applies to the whole chip, as the `matrix` of a channel
    // "mount".
    if hasChannel("mount") {
      texts.append(try withChannel("mount") { channel throws(IIOError) in try channel.attribute("matrix") })
    }
    return texts
  }

  /// Returns the mounting of a sensor: from the configuration, otherwise from the device's attribute, otherwise
  /// the identity.
  fileprivate func mounting(
    _ texts: [String?], configuration: IIOConfiguration
  ) -> (MountMatrix, IIOInventory.MountSource) {
    let (identifier, name, label) = (identifier, name, label)
    let configured = configuration.mountMatrices.first {
      IIOConfiguration.matches($0.key, identifier: identifier, name: name, label: label)
    }
    if let configured { return (configured.value, .configuration) }
    let own = texts.lazy.compactMap { $0 }.compactMap { MountMatrix(parsing: $0) }.first
    return own.map { ($0, .device) } ?? (.identity, .identity)
  }
}
