internal import Bytes
internal import CIIO
public import Sensors

/// What was found in an IIO context.
public struct IIOInventory: Hashable, Sendable {
  /// Where a mount matrix comes from.
  public enum MountSource: String, Hashable, Sendable {
    case device, configuration, identity
  }

  /// One kind of sensor on a device.
  public struct Sensor: Hashable, Sendable {
    public var kind: SensorKind
    /// The channels' identifiers: x, y, z, or the one scalar.
    public var channels: [String]
    /// What a raw step of the first channel is worth, in the unit of the sample type (m/s², rad/s, µT, Pa, °C); nil
    /// where the driver gives finished values.
    public var scale: Double?
    /// What an axis of an accelerometer (m/s²) or gyroscope (rad/s) reads at the end of its converter; nil for other kinds, and where
    /// the driver does not say it. Some chips end earlier.
    public var range: Double?
    public var frequencies: SamplingFrequencies
    /// Hz that the hardware is set to; nil where the driver does not say.
    public var frequency: Double?
    public var mountMatrix: MountMatrix
    public var mountSource: MountSource
    /// Whether a buffer can capture it; otherwise it is polled.
    public var isBuffered: Bool
  }

  /// A device that has at least one of the kinds.
  public struct Device: Hashable, Sendable {
    /// As in "iio:device0"; given anew at every boot and plug.
    public var identifier: String
    public var name: String?
    public var label: String?
    public var sensors: [Sensor]
    /// Whether samples carry the hardware's or the driver's own time.
    public var hasTimestamp: Bool
    /// The trigger that is set, nil for none.
    public var trigger: String?
    /// Whether the device's buffer needs a trigger.
    public var needsTrigger: Bool

    /// As in "iio:device0 (lsm6dsox)".
    public var title: String { identifier + ((name ?? label).map { " (\($0))" } ?? "") }

    public func sensor(_ kind: SensorKind) -> Sensor? { sensors.first { $0.kind == kind } }
  }

  /// A device and what of it is used.
  package struct Assignment: Hashable, Sendable {
    package var device: Device
    package var kinds: Set<SensorKind>

    /// By kind, in the axes of the samples: where the sensor lies askew in the device, an axis of theirs has no end of its own.
    package var ranges: [SensorKind: Double] {
      kinds.reduce(into: [:]) { ranges, kind in
        guard let sensor = device.sensor(kind), sensor.mountMatrix.keepsAxes else { return }
        ranges[kind] = sensor.range
      }
    }
  }

  public var uri: String
  /// What the context says of the machine: its kernel, its address.
  public var machine: String
  public var devices: [Device]
  /// Names of the triggers that exist.
  public var triggers: [String]

  /// The kinds that at least one device has.
  public var kinds: Set<SensorKind> { Set(devices.flatMap { $0.sensors.map(\.kind) }) }

  /// Which device serves which of the wanted kinds: the configured one, else the first that has it, where a device
  /// with a buffer goes before one without. The temperature is taken from the gyroscope's chip where it has one,
  /// because it is there to compensate the gyroscope's bias.
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
public enum SamplingFrequencies: Hashable, Sendable {
  /// These, Hz, ascending.
  case list([Double])
  /// From `minimum` to `maximum` in steps of `step`, Hz; a step of zero is no grid.
  case range(minimum: Double, step: Double, maximum: Double)
  /// The driver does not say: it takes what it is given and rounds it itself.
  case unknown

  /// From the attribute's text: numbers separated by spaces, or a range as `[minimum step maximum]`.
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
      // A frequency of zero is some drivers' word for "off".
      let rates = Set(numbers).filter { $0 > 0 }.sorted()
      self = rates.isEmpty ? .unknown : .list(rates)
    }
  }

  /// The smallest offered frequency that is at least `hertz`; the largest where none is.
  public func nearest(to hertz: Double) -> Double {
    // Drivers round 1/3 Hz and the like to six decimals.
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

  /// A frequency as drivers parse it: at most six decimals, none where there is nothing after the point, because
  /// drivers with whole frequencies refuse a point.
  package static func text(_ hertz: Double) -> String {
    var text: [UInt8] = []
    text.append(decimal: min(max(hertz, 0), 1e9), places: 6)
    return String(decoding: text, as: UTF8.self)
  }
}

extension SamplingFrequencies: CustomStringConvertible {
  /// As in "25 50 100 Hz", "1 to 100 Hz in steps of 0.5" or "any rate".
  public var description: String {
    switch self {
    case .list(let rates): rates.map(Self.text).joined(separator: " ") + " Hz"
    case .range(let minimum, let step, let maximum):
      "\(Self.text(minimum)) to \(Self.text(maximum)) Hz"
        + (step > 0 ? " in steps of \(Self.text(step))" : "")
    case .unknown: "any rate"
    }
  }
}

/// What IIO calls the kinds of sensor, and its units (Documentation/ABI/testing/sysfs-bus-iio).
extension SensorKind {
  /// The kinds that an IIO device can measure.
  package static var iioKinds: Set<SensorKind> {
    [.accelerometer, .gyroscope, .magnetometer, .barometer, .thermometer]
  }

  /// The channels that hold the kind: three axes, or the one scalar. Where a chip has several scalars of a kind
  /// the first found counts.
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

  /// By what a value in IIO's unit is multiplied to give the unit of the sample types: accelerations m/s² and
  /// angular velocities rad/s stay; Gauss become µT, kilopascals Pa, thousandths of a degree °C.
  package var unitFactor: Double {
    switch self {
    case .magnetometer: 100
    case .barometer: 1000
    case .thermometer: 0.001
    case .accelerometer, .gyroscope, .positioning, .wifi, .cellular: 1
    }
  }

  /// The stem of IIO's attribute names for the kind, as in `in_accel_mount_matrix`.
  var attributeStem: String { String(channelIdentifiers.first?.first?.prefix { $0 != "_" } ?? "") }
}

/// How a raw value becomes a quantity: `(raw + offset) * scale`, in that order.
package struct LinearScale: Hashable, Sendable {
  /// In raw units.
  package var offset: Double
  /// From raw units to the unit of the sample type.
  package var scale: Double

  package init(offset: Double = 0, scale: Double = 1) {
    (self.offset, self.scale) = (offset, scale)
  }

  @inline(__always)
  package func callAsFunction(_ raw: Double) -> Double { (raw + offset) * scale }
}
