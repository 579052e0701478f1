/// A bus of this machine, and what is read of it.
public struct CANBus: Hashable, Sendable {
  /// As `ip link` names it: "can0".
  public var interface: String
  public var configuration: CANConfiguration
  /// A file of the kernel that holds the vehicle's voltage in mV, as `in_voltage0_input` of an ADC, or in µV from 1,000,000 on, as
  /// `voltage_now` of a power supply; nil where nothing measures it.
  public var voltageFile: String?

  public init(interface: String, configuration: CANConfiguration, voltageFile: String? = nil) {
    self.interface = interface
    self.configuration = configuration
    self.voltageFile = voltageFile
  }

  /// Whether a text can be the name of an interface: 1 to 15 letters, digits, points, dashes or underscores.
  public static func isInterface(_ name: String) -> Bool {
    (1...15).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || [0x2D, 0x2E, 0x5F].contains(byte)
      }
  }
}

/// The log of a bus, and what is read of it.
public struct CANLog: Hashable, Sendable {
  /// Written by `candump -l`.
  public var path: String
  /// The only interface of it to read; nil reads that of the first frame.
  public var interface: String?
  public var configuration: CANConfiguration

  public init(path: String, interface: String? = nil, configuration: CANConfiguration) {
    self.path = path
    self.interface = interface
    self.configuration = configuration
  }
}
