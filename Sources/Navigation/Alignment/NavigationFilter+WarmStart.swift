internal import Glibc
internal import Spatial

extension NavigationFilter {
  /// The calibration to store; nil until the mounting is accurate to 3°.
  public var calibration: NavigationCalibration? {
    guard state == .aligned, let frame else { return nil }
    let own = filter.state
    let deviation = SIMD2(
      filter.covariance.variance(ErrorState.mounting).squareRoot(),
      filter.covariance.variance(ErrorState.mounting + 2).squareRoot())
    guard max(deviation.x, deviation.y) < 3.0.radians else { return nil }
    return NavigationCalibration(
      mounting: own.mounting, mountingDeviation: deviation, gyroscopeBias: own.gyroscopeBias,
      accelerometerBias: own.accelerometerBias,
      gyroscopeBiasDeviation: worstDeviation(ErrorState.gyroscopeBias),
      accelerometerBiasDeviation: worstDeviation(ErrorState.accelerometerBias),
      gyroscopeScale: own.gyroscopeScale, axleLever: own.axleLever, antennaLever: own.antennaLever,
      positionLatency: own.positionLatency, velocityLatency: own.velocityLatency, speedScale: own.speedScale,
      standing: stops.still, driving: stops.moving, lastState: lastState(frame))
  }

  private func lastState(_ frame: LocalFrame) -> NavigationCalibration.LastState {
    let own = filter.state
    let plane = worstDeviation(ErrorState.position, axes: 2)
    // The covariance does not include the error that is common to consecutive fixes, so it is added; see
    // `radii`.
    let common = (0.5).squareRoot() * receiver.deviation / parameters.radiusFactor
    return NavigationCalibration.LastState(
      coordinate: frame.coordinate(at: SIMD2(own.position.x, own.position.y)),
      altitude: receiver.isEllipsoidal == nil ? nil : frameAltitude + own.position.z,
      isAltitudeEllipsoidal: receiver.isEllipsoidal == true, attitude: own.attitude, velocity: own.velocity,
      positionDeviation: hypot(plane, common),
      heightDeviation: filter.covariance.variance(ErrorState.position + 2).squareRoot(),
      velocityDeviation: worstDeviation(ErrorState.velocity),
      tiltDeviation: worstDeviation(ErrorState.attitude, axes: 2),
      headingDeviation: filter.covariance.variance(ErrorState.attitude + 2).squareRoot(),
      sinceFix: sinceAccepted, isStopped: stops.isStopped(parameters))
  }

  /// Returns the largest standard deviation of a vector in any direction. With two axes, only directions in
  /// the horizontal plane are considered.
  private func worstDeviation(_ start: Int, axes: Int = 3) -> Double {
    let covariance = filter.covariance
    let (a, b) = (covariance.variance(start), covariance.variance(start + 1))
    let plane = 0.5 * (a + b) + hypot(0.5 * (a - b), covariance[start, start + 1])
    return max(plane, axes == 3 ? covariance.variance(start + 2) : 0).squareRoot()
  }

  /// Starts with the stored calibration as soon as the receiver reports a course.
  ///
  /// - Returns: true if the filter was started.
  mutating func startFromKept(_ fix: GNSSMeasurement, speed: Double) -> Bool {
    guard let kept, let position = fix.position, let velocity = fix.velocity, speed > 3 else { return false }
    let force = vibration().meanForce
    let up = Vector3(0, 0, 1)
    guard let upward = kept.mounting.rotate(force).normalized, let measured = force.normalized else {
      return false
    }
    // Slopes and braking tilt the specific force by up to 20°. A larger difference indicates another
    // mounting.
    guard acos(min(1, max(-1, upward.z))) < 20.0.radians else {
      self.kept = nil
      return false
    }
    self.kept = nil
    let level = Quaternion.shortest(from: measured, to: up)
    let forward = level.rotate(kept.mounting.conjugate.rotate(Vector3(0, 1, 0)))
    let turn = atan2(velocity.y, velocity.x) - atan2(forward.y, forward.x)
    var state = NominalState(kept)
    // What the receiver shows now is newer than what was stored.
    let late = latency.estimate
    if let late { state.positionLatency = late.latency - state.velocityLatency }
    state.position = position + velocity * (now - fix.time + state.positionLatency)
    state.velocity = velocity
    state.attitude = (Quaternion(angle: turn, axis: up) * level).normalized
    if rest.isKnown { state.gyroscopeBias = rest.rate }
    var deviations = Self.warmDeviations(kept, wasAtRest: rest.isKnown)
    if let late { deviations[ErrorState.positionLatency] = hypot(late.deviation, Self.storedVelocityLatency) }
    // The motion since the time of the fix is unknown.
    let unseen = max(0, now - fix.time + state.positionLatency)
    deviations.set(ErrorState.position, fix.deviation + (2 + unseen * unseen))
    deviations.set(ErrorState.velocity, Vector3(1 + unseen, 1 + unseen, 1))
    filter.begin(state, deviations: deviations)
    rest.reset()
    becomeAligned()
    return true
  }

  /// The standard deviations of stored latencies in s. They are estimated anew, because the receiver may have been exchanged.
  private static let (storedLatency, storedVelocityLatency) = (0.15, 0.05)

  /// Returns the standard deviations for a start after a time without power.
  private static func warmDeviations(
    _ kept: NavigationCalibration, wasAtRest: Bool
  ) -> ErrorVector {
    var deviations = deviceDeviations(kept, reseating: 0.5.radians)
    deviations.set(ErrorState.attitude, Vector3(6.0.radians, 6.0.radians, 5.0.radians))
    // Sensor biases depend on the temperature of the chip, which may have changed.
    deviations.set(ErrorState.gyroscopeBias, Vector3(repeating: (wasAtRest ? 0.05 : 0.3).radians))
    deviations.set(ErrorState.accelerometerBias, Vector3(repeating: 0.1))
    return deviations
  }

  /// Returns the standard deviations of the parameters that belong to the device and the vehicle.
  /// - Parameter reseating: the possible change of the mounting since the calibration was stored, rad.
  static func deviceDeviations(_ kept: NavigationCalibration, reseating: Double) -> ErrorVector {
    var deviations = ErrorVector.zero
    deviations.set(
      ErrorState.mounting,
      Vector3(hypot(kept.mountingDeviation.x, reseating), 0, hypot(kept.mountingDeviation.y, reseating)))
    deviations[ErrorState.axleLever] = 0.5
    deviations.set(ErrorState.antennaLever, Vector3(repeating: 0.4))
    deviations[ErrorState.positionLatency] = storedLatency
    deviations[ErrorState.speedScale] = 0.02
    deviations.set(ErrorState.gyroscopeScale, Vector3(repeating: 0.005))
    deviations[ErrorState.velocityLatency] = storedVelocityLatency
    return deviations
  }
}

extension NominalState {
  /// Creates a state from the stored device parameters, without position, motion and attitude.
  init(_ kept: NavigationCalibration) {
    self.init()
    mounting = kept.mounting
    gyroscopeBias = kept.gyroscopeBias
    accelerometerBias = kept.accelerometerBias
    gyroscopeScale = kept.gyroscopeScale
    axleLever = kept.axleLever
    antennaLever = kept.antennaLever
    positionLatency = kept.positionLatency
    velocityLatency = kept.velocityLatency
    speedScale = kept.speedScale
  }
}
