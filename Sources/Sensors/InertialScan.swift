public import Spatial

/// Standard gravity, m/s², by which g and m/s² are converted.
public let standardGravity = 9.80665

/// What the inertial sensors of one device measured at one moment, in SI units (the field in µT).
///
/// A chip with several sensors delivers them together, and they stay together until the attitude filter. Sensors on
/// separate devices come as separate scans, each with its own part filled.
///
/// Copies are made of it at every hop, so it is packed: 89 bytes, where optional vectors take 240.
@frozen
public struct InertialScan: Hashable, Sendable {
  /// When the hardware or the driver took it, on the device's time line.
  public var timestamp: Timestamp
  @usableFromInline var force = PackedVector()
  @usableFromInline var rate = PackedVector()
  @usableFromInline var field = PackedVector()
  @usableFromInline var celsius = 0.0
  /// What of it is there; what is not is zero, so that equal scans are equal to the bit.
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

  /// m/s², device frame: what an accelerometer measures. A device at rest, face up, reads (0, 0, +9.81); nil when the
  /// accelerometer is not in the scan.
  @inlinable public var specificForce: Vector3? {
    get { contents & 1 != 0 ? force.vector : nil }
    set {
      contents = newValue == nil ? contents & ~1 : contents | 1
      force = PackedVector(newValue)
    }
  }

  /// rad/s, device frame, right-handed, bias included; nil when the gyroscope is not in the scan.
  @inlinable public var rotationRate: Vector3? {
    get { contents & 2 != 0 ? rate.vector : nil }
    set {
      contents = newValue == nil ? contents & ~2 : contents | 2
      rate = PackedVector(newValue)
    }
  }

  /// µT, device frame, hard and soft iron included; nil when the magnetometer is not in the scan.
  @inlinable public var magneticField: Vector3? {
    get { contents & 4 != 0 ? field.vector : nil }
    set {
      contents = newValue == nil ? contents & ~4 : contents | 4
      field = PackedVector(newValue)
    }
  }

  /// °C of the chip; nil when the thermometer is not in the scan.
  @inlinable public var temperature: Double? {
    get { contents & 8 != 0 ? celsius : nil }
    set {
      contents = newValue == nil ? contents & ~8 : contents | 8
      celsius = newValue ?? 0
    }
  }

  /// Whether nothing is in it.
  @inlinable public var isEmpty: Bool { contents == 0 }

  /// Whether a kind of sensor is in it.
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

  /// Takes a kind of sensor out of it.
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

/// Three numbers without the padding of a vector register.
@frozen @usableFromInline
struct PackedVector: Hashable, Sendable {
  @usableFromInline var x, y, z: Double

  @inlinable init(_ vector: Vector3? = nil) {
    let vector = vector ?? .zero
    (x, y, z) = (vector.x, vector.y, vector.z)
  }

  @inlinable var vector: Vector3 { Vector3(x, y, z) }
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
