internal import Bytes
internal import CIIO
public import Sensors

/// The sensors and triggers of an IIO context.
public struct IIOInventory: Hashable, Sendable {
  /// The origin of a mount matrix.
  public enum MountSource: String, Hashable, Sendable {
    case device, configuration, identity
  }

  /// One kind of sensor on a device.
  public struct Sensor: Hashable, Sendable {
    public var kind: SensorKind
    /// The identifiers of the channels: x, y, z, or a single scalar.
    public var channels: [String]
    /// The size of a raw step of the first channel in the unit of the sample type (m/s², rad/s, µT, Pa, °C);
    /// nil if the driver provides only processed values.
    public var scale: Double?
    /// The largest value of an axis of an accelerometer (m/s²) or gyroscope (rad/s) that its analogue-digital
    /// converter can represent. Nil for other kinds, or if unknown. Some chips have a smaller range.
    public var range: Double?
    public var frequencies: SamplingFrequencies
    /// The current frequency in Hz; nil if unknown.
    public var frequency: Double?
    public var mountMatrix: MountMatrix
    public var mountSource: MountSource
    /// The reason why a capture would have a smaller range than `IIOConfiguration.accelerometerRange` requests; nil
    /// if it would not, or if it is unknown.
    public var rangeProblem: String?
    /// True if a buffer can capture the sensor; otherwise it is polled.
    public var isBuffered: Bool
    /// The reason why an attribute is unknown: the driver or the chip did not answer. Nil if all were read.
    public var problem: String?
  }

  /// A device with at least one sensor of a supported kind.
  public struct Device: Hashable, Sendable {
    /// The identifier, such as "iio:device0"; it changes at every boot and plug.
    public var identifier: String
    public var name: String?
    public var label: String?
    public var sensors: [Sensor]
    /// True if samples have time stamps of the hardware or the driver.
    public var hasTimestamp: Bool
    /// The assigned trigger; nil if none.
    public var trigger: String?
    /// True if the device's buffer needs a trigger.
    public var needsTrigger: Bool

    /// The title, such as "iio:device0 (lsm6dsox)".
    public var title: String { identifier + ((name ?? label).map { " (\($0))" } ?? "") }

    public func sensor(_ kind: SensorKind) -> Sensor? { sensors.first { $0.kind == kind } }
  }

  /// A device and the kinds of sensors that are used from it.
  package struct Assignment: Hashable, Sendable {
    package var device: Device
    package var kinds: Set<SensorKind>

    /// The ranges by kind along the axes of the samples. If a sensor is mounted at an angle, its sample axes
    /// have no definite range.
    package var ranges: [SensorKind: Double] {
      kinds.reduce(into: [:]) { ranges, kind in
        guard let sensor = device.sensor(kind), sensor.mountMatrix.keepsAxes else { return }
        ranges[kind] = sensor.range
      }
    }
  }

  public var uri: String
  /// The context's description of the machine: its kernel, its address.
  public var machine: String
  public var devices: [Device]
  /// The names of the existing triggers.
  public var triggers: [String]

  /// The kinds that at least one device has.
  public var kinds: Set<SensorKind> { Set(devices.flatMap { $0.sensors.map(\.kind) }) }

  /// Returns whether a key of the configuration is the identifier, name or label of a device.
  package func contains(_ key: String) -> Bool {
    devices.contains {
      IIOConfiguration.matches(key, identifier: $0.identifier, name: $0.name, label: $0.label)
    }
  }

  /// Returns the devices to use for the requested kinds: the configured one, otherwise the first that has the
  /// kind, with preference for devices with a buffer. The temperature is that of the gyroscope's chip if it
  /// has one, because it compensates the gyroscope's bias.
  package func assignments(_ configuration: IIOConfiguration, wanted: Set<SensorKind>) -> [Assignment] {
    var chosen: [String: Assignment] = [:]
    for kind in wanted.sorted() {
      var candidates = devices.filter { $0.sensor(kind) != nil }
      if let key = configuration.devices[kind] {
        candidates = candidates.filter {
          IIOConfiguration.matches(key, identifier: $0.identifier, name: $0.name, label: $0.label)
        }
      }
      let companion =
        kind == .thermometer
        ? chosen.values.first { $0.kinds.contains(.gyroscope) || $0.kinds.contains(.accelerometer) } : nil
      let device =
        candidates.first { $0.identifier == companion?.device.identifier }
        ?? candidates.first { $0.sensor(kind)?.isBuffered == true } ?? candidates.first
      guard let device else { continue }
      chosen[device.identifier, default: Assignment(device: device, kinds: [])].kinds.insert(kind)
    }
    return devices.compactMap { chosen[$0.identifier] }
  }
}

/// The sampling frequencies that the hardware offers, from `sampling_frequency_available`.
public enum SamplingFrequencies: Hashable, Sendable, CustomStringConvertible {
  /// The frequencies in Hz, ascending.
  case list([Double])
  /// A range from `minimum` to `maximum` in steps of `step`, Hz; a step of zero means any frequency.
  case range(minimum: Double, step: Double, maximum: Double)
  /// An unknown set: the driver accepts any frequency and rounds it.
  case unknown

  /// Parses the attribute's text: numbers separated by spaces, or a range as `[minimum step maximum]`.
  public init(parsing text: String) {
    let isRange = text.contains("[")
    let numbers = text.split { " \t\n,[]".contains($0) }.compactMap { Double($0) }
      .filter { $0.isFinite && $0 >= 0 }
    if isRange {
      guard numbers.count == 3, numbers[0] <= numbers[2], numbers[2] > 0 else {
        self = .unknown
        return
      }
      self = .range(minimum: numbers[0], step: numbers[1], maximum: numbers[2])
    } else {
      // Some drivers use zero for "off".
      let rates = Set(numbers).filter { $0 > 0 }.sorted()
      self = rates.isEmpty ? .unknown : .list(rates)
    }
  }

  /// Returns the smallest supported frequency that is at least `hertz`, or the largest one.
  public func nearest(to hertz: Double) -> Double {
    // Drivers round 1/3 Hz and similar values to six decimals.
    let wanted = hertz * (1 - 1e-5)
    switch self {
    case .unknown: return hertz
    case .list(let rates): return rates.first { $0 >= wanted } ?? rates.last ?? hertz
    case .range(let minimum, let step, let maximum):
      guard wanted > minimum else { return minimum > 0 ? minimum : min(max(step, hertz), maximum) }
      guard step > 0 else { return min(hertz, maximum) }
      return min(minimum + ((wanted - minimum) / step).rounded(.up) * step, maximum)
    }
  }

  /// The frequencies as text, such as "12.5, 25, 50 Hz" or "1 to 100 Hz in steps of 0.5 Hz".
  public var description: String {
    switch self {
    case .unknown: "unknown rates"
    case .list(let rates): rates.map(Self.text).joined(separator: ", ") + " Hz"
    case .range(let minimum, let step, let maximum):
      "\(Self.text(minimum)) to \(Self.text(maximum)) Hz"
        + (step > 0 ? " in steps of \(Self.text(step)) Hz" : "")
    }
  }

  /// Returns a frequency in the form that drivers parse: at most six decimals. A whole number has no decimal
  /// point, because drivers with whole frequencies reject one.
  package static func text(_ hertz: Double) -> String {
    var text: [UInt8] = []
    text.append(decimal: min(max(hertz, 0), 1e9), places: 6)
    return String(decoding: text, as: UTF8.self)
  }
}

/// The names and units of sensor kinds in IIO (Documentation/ABI/testing/sysfs-bus-iio).
extension SensorKind {
  /// The kinds that an IIO device can measure.
  package static var iioKinds: Set<SensorKind> {
    [.accelerometer, .gyroscope, .magnetometer, .barometer, .thermometer]
  }

  /// The channels of the kind: three axes, or one scalar. If a chip has several scalars of a kind, the first
  /// match is used.
  package var channelIdentifiers: [[String]] {
    switch self {
    case .accelerometer: [["accel_x", "accel_y", "accel_z"]]
    case .gyroscope: [["anglvel_x", "anglvel_y", "anglvel_z"]]
    case .magnetometer: [["magn_x", "magn_y", "magn_z"]]
    case .barometer: [["pressure"], ["pressure0"]]
    case .thermometer: [["temp"], ["temp0"], ["temp_object"], ["temp_ambient"]]
    case .positioning, .wifi, .cellular: []
    }
  }

  /// The factor from IIO's unit to that of the sample types: 1 for m/s² and rad/s, from gauss to µT, from kPa
  /// to Pa, from 0.001 °C to °C.
  package var unitFactor: Double {
    switch self {
    case .magnetometer: 100
    case .barometer: 1000
    case .thermometer: 0.001
    case .accelerometer, .gyroscope, .positioning, .wifi, .cellular: 1
    }
  }

  /// The stem of IIO's attribute names for the kind, such as `accel` in `in_accel_mount_matrix`.
  var attributeStem: String { String(channelIdentifiers.first?.first?.prefix { $0 != "_" } ?? "") }
}

/// The conversion from raw values: `(raw + offset) * scale`, in that order.
package struct LinearScale: Hashable, Sendable {
  /// The offset in raw units.
  package var offset: Double
  /// The factor from raw units to the unit of the sample type.
  package var scale: Double

  package init(offset: Double = 0, scale: Double = 1) {
    (self.offset, self.scale) = (offset, scale)
  }

  @inline(__always)
  package func callAsFunction(_ raw: Double) -> Double { (raw + offset) * scale }
}
