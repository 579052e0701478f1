internal import CIIO
internal import Glibc
internal import Sensors

extension IIOInventory {
  /// Walks through a context. Reads attributes only, never a value: nothing is powered up.
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
  /// Nil for a device that has none of the kinds, such as a converter.
  package init?(
    _ device: borrowing CaptureDevice, configuration: IIOConfiguration
  ) throws(IIOError) {
    identifier = device.identifier
    name = device.name
    label = device.label
    sensors = []
    for kind in SensorKind.iioKinds.sorted() {
      guard let channels = kind.channelIdentifiers.first(where: { $0.allSatisfy { device.hasChannel($0) } })
      else { continue }
      // A driver that fails to say a scale or rate while it starts up still has the sensor.
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

/// `Device` names a type of the inventory inside it; this is libiio's.
package typealias CaptureDevice = Device

extension IIOInventory.Sensor {
  init(
    _ device: borrowing CaptureDevice, kind: SensorKind, channels: [String], configuration: IIOConfiguration
  ) throws(IIOError) {
    self.kind = kind
    self.channels = channels
    let first = channels[0]
    let (scale, isBuffered) = try device.withChannel(first) {
      channel throws(IIOError) -> (Double?, Bool) in
      (try channel.number("scale").map { $0 * kind.unitFactor }, channel.isScanElement)
    }
    self.scale = scale
    self.isBuffered = isBuffered
    let offered = try device.rateAttribute("sampling_frequency_available", channel: first)
    frequencies = offered.map { SamplingFrequencies(parsing: $0) } ?? .unknown
    frequency = Double(try device.rateAttribute("sampling_frequency", channel: first) ?? "")
    (mountMatrix, mountSource) = try device.mounting(of: kind, channel: first, configuration: configuration)
  }
}

extension Device {
  /// A rate's attribute: the channel's own, else the device's; nil where there is none.
  func rateAttribute(_ name: String, channel: String) throws(IIOError) -> String? {
    if let own = try withChannel(channel, { channel throws(IIOError) in try channel.attribute(name) }) {
      return own
    }
    return try attribute(name)
  }

  /// The mounting of a kind of sensor: the device's attribute, then the configuration, then none.
  func mounting(
    of kind: SensorKind, channel: String, configuration: IIOConfiguration
  ) throws(IIOError) -> (MountMatrix, IIOInventory.MountSource) {
    var texts = [
      try withChannel(channel) { channel throws(IIOError) in try channel.attribute("mount_matrix") }
    ]
    for name in ["in_\(kind.attributeStem)_mount_matrix", "in_mount_matrix", "mount_matrix"] {
      texts.append(try attribute(name))
    }
    // libiio takes `in_mount_matrix`, which is for the whole chip, for the `matrix` of a channel called "mount".
    if hasChannel("mount") {
      texts.append(try withChannel("mount") { channel throws(IIOError) in try channel.attribute("matrix") })
    }
    let own = texts.lazy.compactMap { $0 }.compactMap { MountMatrix(parsing: $0) }.first
    if let own, !own.isIdentity { return (own, .device) }
    let (identifier, name, label) = (identifier, name, label)
    let configured = configuration.mountMatrices.first {
      IIOConfiguration.matches($0.key, identifier: identifier, name: name, label: label)
    }
    if let configured { return (configured.value, .configuration) }
    return (.identity, own == nil ? .identity : .device)
  }
}
