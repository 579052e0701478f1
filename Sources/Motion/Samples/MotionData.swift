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

  @inlinable
  public init(timestamp: Timestamp, rotationRate: Vector3) {
    self.timestamp = timestamp
    self.rotationRate = rotationRate
  }

  /// Nil when the gyroscope is not in the scan.
  @inlinable
  public init?(_ scan: InertialScan) {
    guard let rate = scan.rotationRate else { return nil }
    self.init(timestamp: scan.timestamp, rotationRate: rate)
  }
}

/// One magnetometer sample.
@frozen
public struct MagnetometerData: Hashable, Sendable {
  public var timestamp: Timestamp
  /// µT, device frame, hard and soft iron included.
  public var magneticField: Vector3

  @inlinable
  public init(timestamp: Timestamp, magneticField: Vector3) {
    self.timestamp = timestamp
    self.magneticField = magneticField
  }

  /// Nil when the magnetometer is not in the scan.
  @inlinable
  public init?(_ scan: InertialScan) {
    guard let field = scan.magneticField else { return nil }
    self.init(timestamp: scan.timestamp, magneticField: field)
  }
}
