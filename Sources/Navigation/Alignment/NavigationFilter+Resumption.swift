internal import Glibc
internal import Spatial

/// Where a start from a kept place stands.
enum Resumption: Hashable, Sendable {
  /// There is none to make, or the fixes have confirmed it.
  case none
  /// The samples will show whether it can be made; the time is that of what was kept.
  case pending(Timestamp)
  /// It was made of this, and so many fixes of a moving vehicle agree with it.
  case unconfirmed(NavigationCalibration, fixes: Int)

  var isUnconfirmed: Bool {
    if case .unconfirmed = self { true } else { false }
  }
}

/// A start from what was kept while there is no receiver: an agent that was restarted in a tunnel, a vehicle that leaves an
/// underground garage, sensors that slept while it was parked.
extension NavigationFilter {
  /// s of samples that are looked at first, and after which a vehicle that stood must lie still.
  private static let firstLook = 1.0
  private static let lastLook = 3.0
  /// rad between the kept vertical and the measured one up to which a vehicle stands as it did: a bias of 0.1 m/s² that
  /// changed with temperature is 0.6°, load and passengers another half a degree.
  private static let sameTilt = 1.5.radians
  /// rad by which the mounting may have changed: a seat that gives, a screw that was tightened.
  private static let reseating = 0.2.radians
  /// rad of heading deviation beyond which the filter's linear errors no longer describe a turn.
  private static let largestHeadingDeviation = 30.0.radians
  /// m/s² along and across the road, one deviation, and s that they last: what a vehicle does that nobody watches, after
  /// R. A. Singer, "Estimating optimal tracking filter performance for manned maneuvering targets" (1970). In an hour of city
  /// traffic speed and heading changed over 2 to 10 s as with 0.3 to 0.75 m/s²; a brisk driver has twice that.
  private static let manoeuvre = 1.5
  private static let manoeuvreTime = 5.0
  /// m/s below which it turns as fast as at this speed: it has a least radius.
  private static let turningSpeed = 4.0
  /// rad that slopes differ, and m of road on which they do: crests and sags are laid out for 1 % in 10 to 30 m.
  private static let slopeChange = 2.0.radians
  private static let slopeLength = 50.0

  /// How a quantity has changed after `seconds` whose rate of change varies by `deviation` and is remembered over
  /// `manoeuvreTime`.
  private static func change(_ deviation: Double, _ seconds: Double) -> Double {
    let ratio = seconds / manoeuvreTime
    return deviation * manoeuvreTime * (2 * max(0, ratio - 1 + exp(-ratio))).squareRoot()
  }

  /// Starts from the kept place once the samples allow it.
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
      // People who get in shake it: it has a few seconds to lie still.
      guard isStanding || now - sampledSince >= Self.lastLook else { return }
    }
    resumption = .none
    if last.isStopped, isStanding {
      guard tilt < Self.sameTilt, !isElsewhere(last) else { return }
      standAgain(kept, last, force: force, rate: shown.meanRate)
    } else {
      // With a receiver its own course is the better start.
      guard receiver.lastReport == nil else { return }
      // As with a start from a fix: slopes and braking incline the force by up to 20°.
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

  /// Whether a receiver that is there already says that it is not where it was kept.
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
    // A vehicle with its engine off: what a cheap sensor shows on a table.
    return shown.forceVariance < 0.05 * 0.05 && shown.rateVariance < 0.005 * 0.005
  }

  // MARK: The two starts

  /// The vehicle stands where it stood.
  private mutating func standAgain(
    _ kept: NavigationCalibration, _ last: NavigationCalibration.LastState, force: Vector3, rate: Vector3
  ) {
    var state = place(kept, last)
    let level = Quaternion.shortest(from: last.attitude.rotate(force), to: Vector3(0, 0, 1))
    state.attitude = (level * last.attitude).normalized
    state.gyroscopeBias = rate - earth.rate(in: RotationMatrix(state.attitude))
    var deviations = Self.deviceDeviations(
      kept, reseating: Self.reseating, latency: parameters.latencyPrior)
    deviations.set(
      ErrorState.position, Vector3(last.positionDeviation, last.positionDeviation, heightDeviation(last)))
    deviations.set(ErrorState.velocity, Vector3(repeating: parameters.stopVelocity))
    // What the accelerometer's bias may have changed by since is a tilt now.
    let bias = hypot(kept.accelerometerBiasDeviation, 0.1)
    deviations.set(ErrorState.accelerometerBias, Vector3(repeating: bias))
    deviations.set(
      ErrorState.attitude, Vector3(bias / earth.gravity, bias / earth.gravity, last.headingDeviation))
    deviations.set(ErrorState.gyroscopeBias, Vector3(repeating: 0.05.radians))
    filter.begin(state, deviations: deviations)
  }

  /// The vehicle has moved on, nobody knows how, for so many seconds.
  ///
  /// - Returns: false when that is too long to know its heading.
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
    var deviations = Self.deviceDeviations(
      kept, reseating: Self.reseating, latency: parameters.latencyPrior)
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
    // The place that was kept, along the road: it was lost with the speed, and the two go on together.
    addCause(position: last.positionDeviation * ahead, velocity: last.velocityDeviation * ahead)
    // Across the road: it was lost with the heading.
    let side = last.headingDeviation * speed
    addCause(
      position: (last.positionDeviation + side * age) * left, velocity: side * left,
      rotation: Vector3(0, 0, last.headingDeviation))
    // It has braked or gained speed, it has turned, the slope has changed.
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

  /// The device as it was kept, at the origin of a new frame.
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

  /// m; without an altitude the first one is any.
  private func heightDeviation(_ last: NavigationCalibration.LastState) -> Double {
    last.altitude == nil ? 3000 : last.heightDeviation
  }

  // MARK: What the receiver says of it

  /// So many fixes of a moving vehicle make a resumed start as good as any other.
  private static let confirmingFixes = 5

  /// Counts a fix for or against a resumed start. Against two in a row it has no standing: it is forgotten with its place,
  /// and what was kept of the device waits for the receiver's course.
  ///
  /// - Returns: whether the state is still that of the resumed start.
  mutating func confirmResumption(isRefused: Bool) -> Bool {
    guard case .unconfirmed(let kept, let fixes) = resumption else { return true }
    guard isRefused else {
      if hypot(filter.state.velocity.x, filter.state.velocity.y) > 3 {
        resumption = fixes + 1 < Self.confirmingFixes ? .unconfirmed(kept, fixes: fixes + 1) : .none
      }
      return true
    }
    guard receiver.refusedInARow >= 1 else { return true }
    counters.contradictedResumptions += 1
    giveUp(.contradicted)
    self.kept = kept
    receiver = ReceiverState()
    pendingFixes.removeAll(keepingCapacity: true)
    frame = nil
    return false
  }
}
