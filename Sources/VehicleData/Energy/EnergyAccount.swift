/// A part of the device that uses power on the agent's behalf.
public enum EnergyComponent: String, Hashable, Sendable, CaseIterable, Comparable {
  case receiver
  case accelerometer
  case gyroscope
  case magnetometer
  case barometer
  case processor
  /// The modem, or another radio that carries messages.
  case radio
  /// Scans for access points.
  case wifi
  /// Cell queries to the modem, in addition to its use as a radio.
  case cellular

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Use of one part since the start.
public struct EnergyAccount: Hashable, Sendable {
  /// Powered time in s; for the processor, the time in which it works.
  public var seconds = 0.0
  /// Number of starts: of the processor wakeups, of the radio bursts, of Wi-Fi and cells scans.
  public var starts = 0
  /// Bytes sent and received; nil for parts without traffic.
  public var bytes: Int?
  /// Energy in J, computed from the energy figures.
  public var joules = 0.0

  public init(seconds: Double = 0, starts: Int = 0, bytes: Int? = nil, joules: Double = 0) {
    self.seconds = seconds
    self.starts = starts
    self.bytes = bytes
    self.joules = joules
  }
}
