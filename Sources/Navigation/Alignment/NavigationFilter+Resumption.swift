internal import Glibc
internal import Spatial

/// The state of a start from a stored position.
enum Resumption: Hashable, Sendable {
  /// No start from a stored position is pending: there is no stored position, it was not used, or fixes have
  /// confirmed it.
  case none
  /// The decision to start requires more samples. The value is the time of the stored state.
  case pending(Timestamp)
  /// The filter started from this calibration, and this number of fixes of the moving vehicle agree with it.
  case unconfirmed(NavigationCalibration, fixes: Int)

  var isUnconfirmed: Bool {
    if case .unconfirmed = self { true } else { false }
  }
}

/// A start from stored state without a receiver. It is possible after a restart of the agent in a tunnel,
/// when a vehicle leaves an underground garage, or when the sensors slept while the vehicle was parked.
extension NavigationFilter {
  /// Duration in s of samples before the first decision about a start.
  private static let firstLook = 1.0
  /// Duration in s of samples within which a vehicle that was at rest must be at rest again.
  private static let lastLook = 3.0
  /// Maximum angle in rad between the stored and the measured vertical, up to which the vehicle counts as
  /// unmoved. A thermal bias change of 0.1 m/s² causes 0.6°; load and passengers add half a degree.
  private static let sameTilt = 1.5.radians
  /// Possible change of the mounting in rad, for example by a seat that yields or a screw that was tightened.
  private static let reseating = 0.2.radians
  /// The heading deviation in rad above which the filter's linear error model is not valid.
  private static let largestHeadingDeviation = 30.0.radians
  /// The standard deviation in m/s² of the unobserved acceleration along and across the road, after R. A.
  /// Singer, "Estimating optimal tracking filter performance for manned maneuvering targets" (1970). In an
  /// hour of city traffic, speed and heading changed over 2 to 10 s as with deviations of 0.3 to 0.75 m/s². A
  /// brisk driver reaches twice these values.
  private static let manoeuvre = 1.5
  /// The correlation time of the unobserved acceleration in s.
  private static let manoeuvreTime = 5.0
  /// The speed in m/s below which the rate of turn no longer grows, because of the minimum turning radius.
  private static let turningSpeed = 4.0
  /// The standard deviation in rad of a change of slope over `slopeLength`. Crests and sags are designed for
  /// 1 % in 10 to 30 m.
  private static let slopeChange = 2.0.radians
  /// The length of road in m over which the slope changes.
  private static let slopeLength = 50.0

  /// Returns the change of a quantity after `seconds`, if its rate of change has the standard deviation
  /// `deviation` and the correlation time `manoeuvreTime`.
  private static func change(_ deviation: Double, _ seconds: Double) -> Double {
    let ratio = seconds / manoeuvreTime
    return deviation * manoeuvreTime * (2 * max(0, ratio - 1 + exp(-ratio))).squareRoot()
  }

  /// Starts from the stored position as soon as the samples allow it.
  mutating func resume() {
    guard case .pending(let keptAt) = resumption, now - sampledSince >= Self.firstLook else { return }
    guard let kept, let origin, let last = kept.lastState else {
      resumption = .none
      return
    }
    let age = now - keptAt.seconds(since: origin)
    let shown = vibration(seconds: 1, samples: 16)
    guard age >= 0, !walk.isWalking, let force = (shown.meanForce - kept.accelerometerBias).normalized else {
      resumption = .none
      return
    }
    let up = Vector3(0, 0, 1)
    let tilt = acos(min(1, max(-1, last.attitude.rotate(force).dot(up))))
    let isStanding = isStanding(shown, kept)
    if last.isStopped {
      // Passengers who get in shake the vehicle, so it has a few seconds to come to rest.
      guard isStanding || now - sampledSince >= Self.lastLook else { return }
    }
    resumption = .none
    if last.isStopped, isStanding {
      guard tilt < Self.sameTilt, !isElsewhere(last) else { return }
      standAgain(kept, last, force: force, rate: shown.meanRate)
    } else {
      // If a receiver is available, a start from its course is better.
      guard receiver.lastReport == nil else { return }
      // The limit equals that of a start from a fix: slopes and braking tilt the specific force by up to 20°.
      guard tilt < 20.0.radians, age * Self.manoeuvre < 200, goOn(kept, last, after: age) else { return }
    }
    self.kept = nil
    stops.resume(standing: kept.standing, driving: kept.driving)
    receiver.lastAccepted = now - age - last.sinceFix
    rest.reset()
    counters.resumptions += 1
    becomeAligned()
    resumption = .unconfirmed(kept, fixes: 0)
  }

  /// Returns whether a receiver contradicts the stored position.
  private func isElsewhere(_ last: NavigationCalibration.LastState) -> Bool {
    guard let frame, let seen = receiver.position else { return false }
    let distance = frame.offset(of: last.coordinate)
    return hypot(distance.x - seen.x, distance.y - seen.y)
      > 10 + 5 * hypot(last.positionDeviation, receiver.deviation)
  }

  private func isStanding(_ shown: Vibration, _ kept: NavigationCalibration) -> Bool {
    guard (shown.meanRate - kept.gyroscopeBias).length < 0.02 else { return false }
    var detector = stops
    detector.resume(standing: kept.standing, driving: kept.driving)
    if let resembles = detector.resemblesRest(shown.features, parameters) { return resembles }
    // Without learned vibration, the limits correspond to a stopped engine and the noise of a cheap sensor.
    return shown.forceVariance < 0.05 * 0.05 && shown.rateVariance < 0.005 * 0.005
  }

  // MARK: The two starts

  /// Starts at the stored position with the vehicle at rest.
  private mutating func standAgain(
    _ kept: NavigationCalibration, _ last: NavigationCalibration.LastState, force: Vector3, rate: Vector3
  ) {
    var state = place(kept, last)
    let level = Quaternion.shortest(from: last.attitude.rotate(force), to: Vector3(0, 0, 1))
    state.attitude = (level * last.attitude).normalized
    state.gyroscopeBias = rate - earth.rate(in: RotationMatrix(state.attitude))
    var deviations = Self.deviceDeviations(kept, reseating: Self.reseating)
    deviations.set(
      ErrorState.position, Vector3(last.positionDeviation, last.positionDeviation, heightDeviation(last)))
    deviations.set(ErrorState.velocity, Vector3(repeating: parameters.stopVelocity))
    // If the accelerometer bias has changed since the state was stored, the change appears as a tilt.
    let bias = hypot(kept.accelerometerBiasDeviation, 0.1)
    deviations.set(ErrorState.accelerometerBias, Vector3(repeating: bias))
    deviations.set(
      ErrorState.attitude, Vector3(bias / earth.gravity, bias / earth.gravity, last.headingDeviation))
    deviations.set(ErrorState.gyroscopeBias, Vector3(repeating: 0.05.radians))
    filter.begin(state, deviations: deviations)
  }

  /// Starts with a vehicle that has moved for `age` seconds without observation.
  ///
  /// - Returns: true if the filter was started; false if the time is too long to predict the heading.
  private mutating func goOn(
    _ kept: NavigationCalibration, _ last: NavigationCalibration.LastState, after age: Double
  ) -> Bool {
    let speed = last.velocity.length
    let turn = Self.change(Self.manoeuvre / max(Self.turningSpeed, speed), age)
    guard hypot(turn, last.headingDeviation) < Self.largestHeadingDeviation else { return false }
    var state = place(kept, last)
    state.position += last.velocity * age
    state.velocity = last.velocity
    state.attitude = last.attitude
    var deviations = Self.deviceDeviations(kept, reseating: Self.reseating)
    deviations.set(ErrorState.position, Vector3(0.5, 0.5, heightDeviation(last)))
    deviations.set(ErrorState.velocity, Vector3(repeating: last.velocityDeviation))
    deviations.set(
      ErrorState.attitude, Vector3(last.tiltDeviation + 0.3.radians, last.tiltDeviation + 0.3.radians, 0))
    deviations.set(ErrorState.accelerometerBias, Vector3(repeating: kept.accelerometerBiasDeviation + 0.01))
    deviations.set(
      ErrorState.gyroscopeBias, Vector3(repeating: hypot(kept.gyroscopeBiasDeviation, 0.02.radians)))
    filter.begin(state, deviations: deviations)

    let forward = state.vehicleAttitude.rotate(Vector3(0, 1, 0))
    let ahead = Vector3(forward.x, forward.y, 0).normalized ?? Vector3(0, 1, 0)
    let left = Vector3(-ahead.y, ahead.x, 0)
    let gain = Self.change(Self.manoeuvre, age)
    // The stored position error along the road has the same cause as the speed error, so the two errors are
    // correlated.
    addCause(position: last.positionDeviation * ahead, velocity: last.velocityDeviation * ahead)
    // The position error across the road has the same cause as the heading error.
    let side = last.headingDeviation * speed
    addCause(
      position: (last.positionDeviation + side * age) * left, velocity: side * left,
      rotation: Vector3(0, 0, last.headingDeviation))
    // Uncertainty of the motion since the stored state: braking or acceleration, turns and changes of slope.
    addCause(position: 0.5 * age * gain * ahead, velocity: gain * ahead)
    addCause(
      position: 0.5 * age * (turn * speed + gain) * left, velocity: turn * speed * left,
      rotation: Vector3(0, 0, turn))
    let slope = Self.slopeChange * min(1, (speed + gain) * age / Self.slopeLength)
    addCause(
      position: Vector3(0, 0, 0.5 * age * slope * speed), velocity: Vector3(0, 0, slope * speed),
      rotation: slope * Vector3(ahead.y, -ahead.x, 0))
    return true
  }

  private mutating func addCause(position: Vector3, velocity: Vector3, rotation: Vector3 = .zero) {
    var cause = ErrorVector.zero
    cause.set(ErrorState.position, position)
    cause.set(ErrorState.velocity, velocity)
    cause.set(ErrorState.attitude, rotation)
    filter.covariance.add(common: cause)
  }

  /// Returns a state with the stored parameters of the device. The stored position becomes the origin of a
  /// new frame.
  private mutating func place(
    _ kept: NavigationCalibration, _ last: NavigationCalibration.LastState
  ) -> NominalState {
    frameAltitude = last.altitude ?? 0
    frame = LocalFrame(origin: last.coordinate, altitude: frameAltitude)
    earth = Earth(latitude: last.coordinate.latitude, altitude: frameAltitude)
    receiver = ReceiverState()
    receiver.isEllipsoidal = last.altitude == nil ? nil : last.isAltitudeEllipsoidal
    pendingFixes.removeAll(keepingCapacity: true)
    return NominalState(kept)
  }

  /// Returns the standard deviation of the height in m. Without a stored altitude it is large enough to
  /// accept any first altitude.
  private func heightDeviation(_ last: NavigationCalibration.LastState) -> Double {
    last.altitude == nil ? 3000 : last.heightDeviation
  }

  // MARK: Confirmation by the receiver

  /// The number of fixes of a moving vehicle that confirm a resumed start.
  private static let confirmingFixes = 5

  /// Counts a fix for or against a resumed start. Two contradicting fixes in a row discard the resumed start
  /// and its position. The stored device parameters are then used once the receiver reports a course.
  ///
  /// - Returns: true if the filter still has the state of the resumed start.
  mutating func confirmResumption(isRefused: Bool) -> Bool {
    guard case .unconfirmed(let kept, let fixes) = resumption else { return true }
    guard isRefused else {
      if hypot(filter.state.velocity.x, filter.state.velocity.y) > 3 {
        resumption = fixes + 1 < Self.confirmingFixes ? .unconfirmed(kept, fixes: fixes + 1) : .none
      }
      return true
    }
    guard !receiver.refusals.isConfirmed else { return true }
    counters.contradictedResumptions += 1
    giveUp(.contradicted)
    self.kept = kept
    receiver = ReceiverState()
    pendingFixes.removeAll(keepingCapacity: true)
    frame = nil
    return false
  }
}
