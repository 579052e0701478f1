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
