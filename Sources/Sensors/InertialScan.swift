public import Spatial

/// Standard gravity, m/s², by which g and m/s² are converted.
public let standardGravity = 9.80665

/// What the inertial sensors of one device measured at one moment, in SI units (the field in µT).
///
/// A chip with several sensors delivers them together, and they stay together until the attitude filter. Sensors on
/// separate devices come as separate scans, each with its own part filled.
@frozen
public struct InertialScan: Hashable, Sendable {
  /// When the hardware or the driver took it, on the device's time line.
  public var timestamp: Timestamp
  /// m/s², device frame: what an accelerometer measures. A device at rest, face up, reads (0, 0, +9.81); nil when the
  /// accelerometer is not in the scan.
  public var specificForce: Vector3?
  /// rad/s, device frame, right-handed, bias included; nil when the gyroscope is not in the scan.
  public var rotationRate: Vector3?
  /// µT, device frame, hard and soft iron included; nil when the magnetometer is not in the scan.
  public var magneticField: Vector3?
  /// °C of the chip; nil when the thermometer is not in the scan.
  public var temperature: Double?

  @inlinable
  public init(
    timestamp: Timestamp, specificForce: Vector3? = nil, rotationRate: Vector3? = nil,
    magneticField: Vector3? = nil, temperature: Double? = nil
  ) {
    self.timestamp = timestamp
    self.specificForce = specificForce
    self.rotationRate = rotationRate
    self.magneticField = magneticField
    self.temperature = temperature
  }

  /// Whether nothing is in it.
  @inlinable public var isEmpty: Bool {
    specificForce == nil && rotationRate == nil && magneticField == nil && temperature == nil
  }

  /// Whether a kind of sensor is in it.
  @inlinable
  public func contains(_ kind: SensorKind) -> Bool {
    switch kind {
    case .accelerometer: specificForce != nil
    case .gyroscope: rotationRate != nil
    case .magnetometer: magneticField != nil
    case .thermometer: temperature != nil
    case .barometer, .positioning: false
    }
  }

  /// Takes a kind of sensor out of it.
  @inlinable
  public mutating func remove(_ kind: SensorKind) {
    switch kind {
    case .accelerometer: specificForce = nil
    case .gyroscope: rotationRate = nil
    case .magnetometer: magneticField = nil
    case .thermometer: temperature = nil
    case .barometer, .positioning: break
    }
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
