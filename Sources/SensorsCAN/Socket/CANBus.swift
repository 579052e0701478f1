/// A CAN bus of this machine, with its configuration.
public struct CANBus: Hashable, Sendable {
  /// Name of the interface, as in `ip link`: "can0".
  public var interface: String
  public var configuration: CANConfiguration
  /// A file of the kernel with the vehicle's voltage; nil if not measured. Numbers below 1,000,000 are mV,
  /// such as those in `in_voltage0_input` of an ADC. Larger numbers are µV, such as those in `voltage_now` of
  /// a power supply.
  public var voltageFile: String?

  public init(interface: String, configuration: CANConfiguration, voltageFile: String? = nil) {
    self.interface = interface
    self.configuration = configuration
    self.voltageFile = voltageFile
  }

  /// Returns whether a text is a valid name of an interface: 1 to 15 letters, digits, points, dashes or
  /// underscores.
  public static func isInterface(_ name: String) -> Bool {
    (1...15).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || [0x2D, 0x2E, 0x5F].contains(byte)
      }
  }
}

/// A log of a CAN bus, with its configuration.
public struct CANLog: Hashable, Sendable {
  /// Path of a log written by `candump -l`.
  public var path: String
  /// The only interface to read; nil reads that of the first frame.
  public var interface: String?
  public var configuration: CANConfiguration

  public init(path: String, interface: String? = nil, configuration: CANConfiguration) {
    self.path = path
    self.interface = interface
    self.configuration = configuration
  }
}
