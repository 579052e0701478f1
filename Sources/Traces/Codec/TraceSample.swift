public import Sensors
public import Spatial

/// What a trace holds of one moment.
public enum TraceSample: Hashable, Sendable {
  /// As the sensor delivered it.
  case inertial(InertialScan)
  case pressure(PressureData)
  /// As the receiver reported it.
  case fix(PositionFix)
  case vehicle(VehicleReading)
  /// What navigation made of it.
  case motion(TraceMotion)

  public var timestamp: Timestamp {
    switch self {
    case .inertial(let scan): scan.timestamp
    case .pressure(let data): data.timestamp
    case .fix(let fix): fix.timestamp
    case .vehicle(let reading): reading.timestamp
    case .motion(let motion): motion.timestamp
    }
  }
}

/// How the vehicle lay and moved.
public struct TraceMotion: Hashable, Sendable {
  public var timestamp: Timestamp
  /// From right, forward, up of the vehicle (of the device, where its mounting is not known) to east, north, up.
  public var attitude: Quaternion
  /// m/s east, north, up; nil where it is not known.
  public var velocity: Vector3?

  public init(timestamp: Timestamp, attitude: Quaternion, velocity: Vector3? = nil) {
    self.timestamp = timestamp
    self.attitude = attitude
    self.velocity = velocity
  }
}

/// What one step of a sensor's raw value is worth, by axis. A trace has whole steps: with those of the sensor it is exact.
public struct TraceResolution: Hashable, Sendable {
  /// m/s², rad/s and µT of the device's axes.
  public var specificForce: Vector3
  public var rotationRate: Vector3
  public var magneticField: Vector3
  /// Pa, and °C of the chip.
  public var pressure: Double
  public var temperature: Double

  /// Finer than common parts in their finest range, for what is not known: an eighth of a 16-bit part's step at ±2 g and ±250 °/s.
  public init(
    specificForce: Vector3 = Vector3(repeating: 7.5e-5), rotationRate: Vector3 = Vector3(repeating: 1.6e-5),
    magneticField: Vector3 = Vector3(repeating: 0.01), pressure: Double = 0.1, temperature: Double = 0.01
  ) {
    self.specificForce = specificForce
    self.rotationRate = rotationRate
    self.magneticField = magneticField
    self.pressure = pressure
    self.temperature = temperature
  }

  /// Each positive and finite.
  var isSound: Bool { steps.allSatisfy { $0.isFinite && $0 > 0 } }

  /// In the order of columns.
  var steps: [Double] {
    [specificForce, rotationRate, magneticField].flatMap { [$0.x, $0.y, $0.z] } + [temperature, pressure]
  }

  static let stepCount = 11

  /// Nil for what cannot be.
  init?(steps: [Double]) {
    guard steps.count == Self.stepCount else { return nil }
    self.init(
      specificForce: Vector3(steps[0], steps[1], steps[2]),
      rotationRate: Vector3(steps[3], steps[4], steps[5]),
      magneticField: Vector3(steps[6], steps[7], steps[8]), pressure: steps[10], temperature: steps[9])
    guard isSound else { return nil }
  }
}
