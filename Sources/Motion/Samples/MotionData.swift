public import Sensors
public import Spatial

// What Core Motion hands its users, one sensor at a time: the accelerometer in g with Core Motion's sign.

/// One accelerometer sample.
@frozen
public struct AccelerometerData: Hashable, Sendable {
  /// When the sensor took it, from the hardware or the driver, on the device's time line.
  public var timestamp: Timestamp
  /// g, device frame, with Core Motion's sign: a device at rest, face up, reads (0, 0, -1).
  public var acceleration: Vector3

  @inlinable
  public init(timestamp: Timestamp, acceleration: Vector3) {
    self.timestamp = timestamp
    self.acceleration = acceleration
  }

  /// Nil when the accelerometer is not in the scan.
  @inlinable
  public init?(_ scan: InertialScan) {
    guard let force = scan.specificForce else { return nil }
    self.init(timestamp: scan.timestamp, acceleration: force * (-1 / standardGravity))
  }
}

/// One gyroscope sample.
@frozen
public struct GyroData: Hashable, Sendable {
  public var timestamp: Timestamp
  /// rad/s, device frame, right-handed, bias included.
  public var rotationRate: Vector3

  /// Nil when the gyroscope is not in the scan.
  @inlinable
  public init?(_ scan: InertialScan) {
    guard let rate = scan.rotationRate else { return nil }
    (timestamp, rotationRate) = (scan.timestamp, rate)
  }
}

/// One magnetometer sample.
@frozen
public struct MagnetometerData: Hashable, Sendable {
  public var timestamp: Timestamp
  /// µT, device frame, hard and soft iron included.
  public var magneticField: Vector3

  /// Nil when the magnetometer is not in the scan.
  @inlinable
  public init?(_ scan: InertialScan) {
    guard let field = scan.magneticField else { return nil }
    (timestamp, magneticField) = (scan.timestamp, field)
  }
}

/// What a consumer wants to be told.
public enum MotionUpdates: String, Hashable, Sendable, CaseIterable {
  case accelerometer
  case gyro
  case magnetometer
  case deviceMotion

  /// The sensor behind it; nil for the fused motion.
  var kind: SensorKind? {
    switch self {
    case .accelerometer: .accelerometer
    case .gyro: .gyroscope
    case .magnetometer: .magnetometer
    case .deviceMotion: nil
    }
  }
}

/// What a consumer asks for, and how often.
public struct MotionRequest: Hashable, Sendable {
  public var updates: MotionUpdates
  /// Seconds between updates, above 0.
  public var interval: Double
  /// Seconds for which samples may be held back in the hardware: the longer, the less power.
  public var latency: Double

  /// - Parameter interval: seconds; anything but a number from 0.1 ms to a day is brought into that range.
  public init(_ updates: MotionUpdates, interval: Double = 0.01, latency: Double = 0.1) {
    self.updates = updates
    self.interval = interval.isFinite ? max(1e-4, min(86_400, interval)) : 86_400
    self.latency = latency.isFinite ? max(0, min(3600, latency)) : 0
  }
}

/// Stands for one consumer that was counted in.
public struct MotionConsumer: Hashable, Sendable {
  let number: Int
}
