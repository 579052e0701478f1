public import Spatial

/// Standard gravity in m/s², for conversion between g and m/s².
public let standardGravity = 9.80665

/// A simultaneous measurement of the inertial sensors of a device, in SI units (the field in µT).
///
/// A chip with several sensors delivers their values together, and one scan holds them up to the attitude
/// filter. Sensors on separate devices deliver separate scans with only their own fields. The struct is
/// packed because it is copied often: 89 bytes instead of 240 with optional vectors.
@frozen
public struct InertialScan: Hashable, Sendable {
  /// The time of the measurement by hardware or driver, on the device's clock.
  public var timestamp: Timestamp
  @usableFromInline var force = PackedVector()
  @usableFromInline var rate = PackedVector()
  @usableFromInline var field = PackedVector()
  @usableFromInline var celsius = 0.0
  /// A bit mask of the present fields; missing fields are zero, so that equal scans are equal bit by bit.
  @usableFromInline var contents: UInt8 = 0

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

  /// Specific force in m/s², device frame. A device at rest, face up, reads (0, 0, +9.81). Nil if the scan
  /// has no accelerometer data.
  @inlinable public var specificForce: Vector3? {
    get { contents & 1 != 0 ? force.vector : nil }
    set {
      contents = newValue == nil ? contents & ~1 : contents | 1
      force = PackedVector(newValue)
    }
  }

  /// Rotation rate in rad/s, device frame, right-handed, including bias; nil if the scan has no gyroscope
  /// data.
  @inlinable public var rotationRate: Vector3? {
    get { contents & 2 != 0 ? rate.vector : nil }
    set {
      contents = newValue == nil ? contents & ~2 : contents | 2
      rate = PackedVector(newValue)
    }
  }

  /// Magnetic field in µT, device frame, including hard and soft iron; nil if the scan has no magnetometer
  /// data.
  @inlinable public var magneticField: Vector3? {
    get { contents & 4 != 0 ? field.vector : nil }
    set {
      contents = newValue == nil ? contents & ~4 : contents | 4
      field = PackedVector(newValue)
    }
  }

  /// Temperature of the chip in °C; nil if the scan has no thermometer data.
  @inlinable public var temperature: Double? {
    get { contents & 8 != 0 ? celsius : nil }
    set {
      contents = newValue == nil ? contents & ~8 : contents | 8
      celsius = newValue ?? 0
    }
  }

  /// True if the scan has no data.
  @inlinable public var isEmpty: Bool { contents == 0 }

  /// Returns whether the scan has data of a kind of sensor.
  @inlinable
  public func contains(_ kind: SensorKind) -> Bool {
    switch kind {
    case .accelerometer: contents & 1 != 0
    case .gyroscope: contents & 2 != 0
    case .magnetometer: contents & 4 != 0
    case .thermometer: contents & 8 != 0
    case .barometer, .positioning, .wifi, .cellular: false
    }
  }

  /// Removes the data of a kind of sensor.
  @inlinable
  public mutating func remove(_ kind: SensorKind) {
    switch kind {
    case .accelerometer: specificForce = nil
    case .gyroscope: rotationRate = nil
    case .magnetometer: magneticField = nil
    case .thermometer: temperature = nil
    case .barometer, .positioning, .wifi, .cellular: break
    }
  }
}

/// A vector without the padding of a vector register.
@frozen @usableFromInline
struct PackedVector: Hashable, Sendable {
  @usableFromInline var x, y, z: Double

  @inlinable init(_ vector: Vector3? = nil) {
    let vector = vector ?? .zero
    (x, y, z) = (vector.x, vector.y, vector.z)
  }

  @inlinable var vector: Vector3 { Vector3(x, y, z) }
}

/// A barometer sample.
@frozen
public struct PressureData: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Pressure in Pa.
  public var pressure: Double

  @inlinable
  public init(timestamp: Timestamp, pressure: Double) {
    self.timestamp = timestamp
    self.pressure = pressure
  }
}
