public import Sensors
public import Spatial

// Samples of single sensors in Core Motion's form: the accelerometer in g with Core Motion's sign.

/// An accelerometer sample.
@frozen
public struct AccelerometerData: Hashable, Sendable {
  /// Time of measurement from hardware or driver, on the device's clock.
  public var timestamp: Timestamp
  /// Acceleration in g, device frame, with Core Motion's sign: a device at rest, face up, reads (0, 0, -1).
  public var acceleration: Vector3

  @inlinable
  public init(timestamp: Timestamp, acceleration: Vector3) {
    self.timestamp = timestamp
    self.acceleration = acceleration
  }

  /// Extracts the accelerometer sample of a scan; nil if it contains none.
  @inlinable
  public init?(_ scan: InertialScan) {
    guard let force = scan.specificForce else { return nil }
    self.init(timestamp: scan.timestamp, acceleration: force * (-1 / standardGravity))
  }
}

/// A gyroscope sample.
@frozen
public struct GyroData: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Rotation rate in rad/s, device frame, right-handed, bias included.
  public var rotationRate: Vector3

  /// Extracts the gyroscope sample of a scan; nil if it contains none.
  @inlinable
  public init?(_ scan: InertialScan) {
    guard let rate = scan.rotationRate else { return nil }
    (timestamp, rotationRate) = (scan.timestamp, rate)
  }
}

/// A magnetometer sample.
@frozen
public struct MagnetometerData: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Magnetic field in µT, device frame, hard and soft iron included.
  public var magneticField: Vector3

  /// Extracts the magnetometer sample of a scan; nil if it contains none.
  @inlinable
  public init?(_ scan: InertialScan) {
    guard let field = scan.magneticField else { return nil }
    (timestamp, magneticField) = (scan.timestamp, field)
  }
}

/// The kinds of updates that a consumer can request.
public enum MotionUpdates: String, Hashable, Sendable, CaseIterable {
  case accelerometer
  case gyro
  case magnetometer
  case deviceMotion

  /// The sensor that provides these updates; nil for fused motion.
  var kind: SensorKind? {
    switch self {
    case .accelerometer: .accelerometer
    case .gyro: .gyroscope
    case .magnetometer: .magnetometer
    case .deviceMotion: nil
    }
  }
}

/// A consumer's request for updates.
public struct MotionRequest: Hashable, Sendable {
  public var updates: MotionUpdates
  /// Interval between updates in s, above 0.
  public var interval: Double
  /// Time in s for which samples may be buffered in hardware. Longer times save power.
  public var latency: Double

  /// - Parameter interval: interval in s, limited to 0.1 ms ... one day.
  public init(_ updates: MotionUpdates, interval: Double = 0.01, latency: Double = 0.1) {
    self.updates = updates
    self.interval = interval.isFinite ? max(1e-4, min(86_400, interval)) : 86_400
    self.latency = latency.isFinite ? max(0, min(3600, latency)) : 0
  }
}

/// Handle of a registered consumer.
public struct MotionConsumer: Hashable, Sendable {
  let number: Int
}
