/// What the parts of the device cost while they run. `Config/odograph.toml` names the source of each default.
public struct EnergyFigures: Hashable, Sendable {
  /// Watts while on.
  public var power: [EnergyComponent: Double]
  /// Joules for each time that the processor leaves its sleep.
  public var wakeup: Double
  /// Joules for each time that the radio leaves its sleep, beside the time that it then stays on.
  public var burst: Double
  /// Joules for each byte, sent or received.
  public var byte: Double
  /// Seconds that the kernel leaves an inertial sensor its power after nobody reads it any more.
  public var sensorLinger: Double

  public init(
    power: [EnergyComponent: Double] = [:], wakeup: Double = 0, burst: Double = 0, byte: Double = 0,
    sensorLinger: Double = 0
  ) {
    self.power = power
    self.wakeup = wakeup
    self.burst = burst
    self.byte = byte
    self.sensorLinger = sensorLinger
  }
}

/// A part of the device that draws power on the agent's behalf.
public enum EnergyComponent: String, Hashable, Sendable, CaseIterable, Comparable {
  case receiver
  case accelerometer
  case gyroscope
  case magnetometer
  case barometer
  case processor
  /// The modem, or whatever carries messages.
  case radio

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// What one part used since the start.
public struct EnergyAccount: Hashable, Sendable {
  /// Seconds on; of the processor, seconds at work.
  public var seconds = 0.0
  /// How often it came on; of the processor, how often it was woken; of the radio, bursts.
  public var starts = 0
  /// Bytes sent and received; nil for what carries none.
  public var bytes: Int?
  /// By the figures.
  public var joules = 0.0

  public init(seconds: Double = 0, starts: Int = 0, bytes: Int? = nil, joules: Double = 0) {
    self.seconds = seconds
    self.starts = starts
    self.bytes = bytes
    self.joules = joules
  }
}
