package import Sensors
package import Spatial

/// A sample in a trace.
package enum TraceSample: Hashable, Sendable {
  /// The unmodified scan of the sensor.
  case inertial(InertialScan)
  case pressure(PressureData)
  /// The unmodified report of the receiver.
  case fix(PositionFix)
  case vehicle(VehicleReading)
  /// Attitude and velocity computed by the navigation filter.
  case motion(TraceMotion)

  package var timestamp: Timestamp {
    switch self {
    case .inertial(let scan): scan.timestamp
    case .pressure(let data): data.timestamp
    case .fix(let fix): fix.timestamp
    case .vehicle(let reading): reading.timestamp
    case .motion(let motion): motion.timestamp
    }
  }
}

/// Attitude and velocity of the vehicle.
package struct TraceMotion: Hashable, Sendable {
  package var timestamp: Timestamp
  /// The rotation from the vehicle's axes (right, forward, up) to east, north, up. If the mounting is
  /// unknown, the rotation from the device's axes.
  package var attitude: Quaternion
  /// Velocity east, north, up in m/s; nil if unknown.
  package var velocity: Vector3?

  package init(timestamp: Timestamp, attitude: Quaternion, velocity: Vector3? = nil) {
    self.timestamp = timestamp
    self.attitude = attitude
    self.velocity = velocity
  }
}

/// The step sizes of the sensors' raw values, by axis. A trace stores whole steps; with the sensor's own
/// steps the trace is lossless.
package struct TraceResolution: Hashable, Sendable {
  /// Step sizes of the specific force in m/s², along the device axes.
  package var specificForce: Vector3
  /// Step sizes of the rotation rate in rad/s, along the device axes.
  package var rotationRate: Vector3
  /// Step sizes of the magnetic field in µT, along the device axes.
  package var magneticField: Vector3
  /// Step size of the pressure in Pa.
  package var pressure: Double
  /// Step size of the chip temperature in °C.
  package var temperature: Double

  /// Creates a resolution; the defaults are for unknown sensors. The default steps are finer than those of
  /// common sensors in their finest range: an eighth of the step of a 16-bit sensor at ±2 g and ±250 °/s.
  package init(
    specificForce: Vector3 = Vector3(repeating: 7.5e-5), rotationRate: Vector3 = Vector3(repeating: 1.6e-5),
    magneticField: Vector3 = Vector3(repeating: 0.01), pressure: Double = 0.1, temperature: Double = 0.01
  ) {
    self.specificForce = specificForce
    self.rotationRate = rotationRate
    self.magneticField = magneticField
    self.pressure = pressure
    self.temperature = temperature
  }

  /// True if all steps are positive and finite.
  var isSound: Bool { steps.allSatisfy { $0.isFinite && $0 > 0 } }

  /// The steps in column order.
  var steps: [Double] {
    [specificForce, rotationRate, magneticField].flatMap { [$0.x, $0.y, $0.z] } + [temperature, pressure]
  }

  static let stepCount = 11

  /// Creates a resolution from steps in column order; nil for invalid steps.
  init?(steps: [Double]) {
    guard steps.count == Self.stepCount else { return nil }
    self.init(
      specificForce: Vector3(steps[0], steps[1], steps[2]),
      rotationRate: Vector3(steps[3], steps[4], steps[5]),
      magneticField: Vector3(steps[6], steps[7], steps[8]), pressure: steps[10], temperature: steps[9])
    guard isSound else { return nil }
  }
}
