internal import Glibc
public import Spatial

/// What is worth keeping of one device in one vehicle across restarts: a plain value.
///
/// It is used at the next start, which then needs no driving, and given up where the samples contradict it.
public struct NavigationCalibration: Hashable, Sendable {
  /// From the device frame to right, forward, up of the vehicle.
  public var mounting: Quaternion
  /// rad: its deviation about the vehicle's right and up axes.
  public var mountingDeviation: SIMD2<Double>
  /// rad/s and m/s², device frame: what to subtract.
  public var gyroscopeBias: Vector3
  public var accelerometerBias: Vector3
  /// Scale of the gyroscope less one, by axis.
  public var gyroscopeScale: Vector3
  /// m: how far the rear axle is behind the device.
  public var axleLever: Double
  /// m, vehicle frame: from the device to the antenna.
  public var antennaLever: Vector3
  /// s that positions are late, and velocities beyond that.
  public var positionLatency: Double
  public var velocityLatency: Double
  /// Scale of the wheel speed less one.
  public var speedScale: Double
  /// Where the vehicle was, and its heading in degrees.
  public var coordinate: Coordinate
  public var heading: Double

  /// Whether all numbers are finite and possible.
  public var isValid: Bool {
    mounting.isFinite && abs(mounting.norm - 1) < 1e-3 && mountingDeviation.x >= 0 && mountingDeviation.y >= 0
      && mountingDeviation.x < 1 && mountingDeviation.y < 1 && gyroscopeBias.isFinite
      && gyroscopeBias.length < 0.5
      && accelerometerBias.isFinite && accelerometerBias.length < 5 && gyroscopeScale.isFinite
      && gyroscopeScale.length < 0.2 && abs(axleLever) < 30 && antennaLever.isFinite
      && antennaLever.length < 30
      && abs(positionLatency) < 2 && abs(velocityLatency) < 2 && abs(speedScale) < 0.5 && coordinate.isValid
      && heading.isFinite
  }
}

extension NavigationFilter {
  /// What to keep; nil before the mounting is known to 3°.
  public var calibration: NavigationCalibration? {
    guard state == .aligned, let frame else { return nil }
    let own = filter.state
    let deviation = SIMD2(
      filter.covariance.variance(ErrorState.mounting).squareRoot(),
      filter.covariance.variance(ErrorState.mounting + 2).squareRoot())
    guard max(deviation.x, deviation.y) < 3.0.radians else { return nil }
    let forward = own.vehicleAttitude.rotate(Vector3(0, 1, 0))
    return NavigationCalibration(
      mounting: own.mounting, mountingDeviation: deviation, gyroscopeBias: own.gyroscopeBias,
      accelerometerBias: own.accelerometerBias, gyroscopeScale: own.gyroscopeScale, axleLever: own.axleLever,
      antennaLever: own.antennaLever, positionLatency: own.positionLatency,
      velocityLatency: own.velocityLatency,
      speedScale: own.speedScale, coordinate: frame.coordinate(at: SIMD2(own.position.x, own.position.y)),
      heading: normalizedDegrees(atan2(forward.x, forward.y).degrees))
  }

  /// Starts with what was kept as soon as the receiver knows a course.
  ///
  /// - Returns: whether it did.
  mutating func startFromKept(_ fix: GNSSMeasurement, speed: Double) -> Bool {
    guard let kept, let position = fix.position, let velocity = fix.velocity, speed > 3 else { return false }
    let force = vibration().meanForce
    let up = Vector3(0, 0, 1)
    guard let upward = kept.mounting.rotate(force).normalized, let measured = force.normalized else {
      return false
    }
    // Slopes and braking incline the force by up to 20°; a device that lies differently is another mounting.
    guard acos(min(1, max(-1, upward.z))) < 20.0.radians else {
      self.kept = nil
      return false
    }
    self.kept = nil
    let level = Quaternion.shortest(from: measured, to: up)
    let forward = level.rotate(kept.mounting.conjugate.rotate(Vector3(0, 1, 0)))
    let turn = atan2(velocity.y, velocity.x) - atan2(forward.y, forward.x)
    var state = NominalState()
    state.position = position + velocity * (now - fix.time)
    state.velocity = velocity
    state.attitude = (Quaternion(angle: turn, axis: up) * level).normalized
    state.mounting = kept.mounting
    state.gyroscopeBias = rest.isKnown ? rest.rate : kept.gyroscopeBias
    state.accelerometerBias = kept.accelerometerBias
    state.gyroscopeScale = kept.gyroscopeScale
    state.axleLever = kept.axleLever
    state.antennaLever = kept.antennaLever
    state.positionLatency = kept.positionLatency
    state.velocityLatency = kept.velocityLatency
    state.speedScale = kept.speedScale
    filter.begin(
      state,
      deviations: Self.warmDeviations(fix, kept, wasAtRest: rest.isKnown, latency: parameters.latencyPrior))
    rest.reset()
    becomeAligned()
    return true
  }

  /// How far each may be off after a while without power.
  private static func warmDeviations(
    _ fix: GNSSMeasurement, _ kept: NavigationCalibration, wasAtRest: Bool, latency: Double
  ) -> ErrorVector {
    var deviations = ErrorVector.zero
    deviations.set(ErrorState.position, fix.deviation + 2)
    deviations.set(ErrorState.velocity, Vector3(1, 1, 1))
    deviations.set(ErrorState.attitude, Vector3(6.0.radians, 6.0.radians, 5.0.radians))
    // A cold chip reads otherwise than a warm one.
    deviations.set(ErrorState.gyroscopeBias, Vector3(repeating: (wasAtRest ? 0.05 : 0.3).radians))
    deviations.set(ErrorState.accelerometerBias, Vector3(repeating: 0.1))
    deviations.set(
      ErrorState.mounting,
      Vector3(hypot(kept.mountingDeviation.x, 0.5.radians), 0, hypot(kept.mountingDeviation.y, 0.5.radians)))
    deviations[ErrorState.axleLever] = 0.5
    deviations.set(ErrorState.antennaLever, Vector3(repeating: 0.4))
    deviations[ErrorState.positionLatency] = latency
    deviations[ErrorState.speedScale] = 0.02
    deviations.set(ErrorState.gyroscopeScale, Vector3(repeating: 0.005))
    deviations[ErrorState.velocityLatency] = 0.05
    return deviations
  }
}
