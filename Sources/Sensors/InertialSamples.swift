public import Spatial

/// Standard gravity, m/s², by which g and m/s² are converted.
public let standardGravity = 9.80665

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

  /// From specific force in m/s², as IIO drivers and most recordings report it (face up reads +9.81 on z).
  @inlinable
  public init(timestamp: Timestamp, specificForce: Vector3) {
    self.init(timestamp: timestamp, acceleration: specificForce * (-1 / standardGravity))
  }

  /// m/s², device frame, pointing up at rest.
  @inlinable public var specificForce: Vector3 { acceleration * -standardGravity }
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
}

/// One barometer sample.
@frozen
public struct PressureData: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Pa.
  public var pressure: Double

  @inlinable
  public init(timestamp: Timestamp, pressure: Double) {
    self.timestamp = timestamp
    self.pressure = pressure
  }
}

/// One temperature sample of the inertial sensors.
@frozen
public struct TemperatureData: Hashable, Sendable {
  public var timestamp: Timestamp
  /// °C.
  public var temperature: Double

  @inlinable
  public init(timestamp: Timestamp, temperature: Double) {
    self.timestamp = timestamp
    self.temperature = temperature
  }
}
