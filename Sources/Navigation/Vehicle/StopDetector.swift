internal import Glibc
internal import Spatial

/// A detector of rest. The vibration at rest and in motion is learned from stops that the receiver observed.
///
/// A false stop is the worst error for a position without a receiver, while a missed stop costs little.
/// Therefore a stop requires 1.25 s of quiet, and ends as soon as the integrated force differs from its mean
/// at rest.
struct StopDetector: Sendable {
  typealias Parameters = NavigationFilter.Parameters

  private(set) var still = NavigationCalibration.Shaking()
  private(set) var moving = NavigationCalibration.Shaking()
  /// The time in s for which the receiver has reported a speed of zero.
  private var stillTime = 0.0
  /// The receiver's last speed, m/s.
  private(set) var lastSpeed = 9.0
  /// The time in s for which the vibration has been that of a vehicle at rest.
  private var quiet = 0.0
  /// The time in s until a stop can be detected again.
  private var lockout = 0.0
  private var sinceDecision = 0.0
  /// The mean specific force in the device frame since the start of the quiet period, m/s².
  private var reference = Vector3.zero
  /// The averaging time of `reference`, s.
  private var referenceTime = 0.0
  /// The integrated difference between the force and `reference` in the device frame, m/s.
  private var drift = Vector3.zero

  /// Returns whether the vehicle is at rest.
  func isStopped(_ parameters: Parameters) -> Bool { quiet >= parameters.stopTime }

  /// Resets the current stop, and retains what was learned.
  mutating func interrupt() {
    (quiet, lockout, sinceDecision, referenceTime) = (0, 0, 0, 0)
    (reference, drift) = (.zero, .zero)
    (stillTime, lastSpeed) = (0, 9)
  }

  // MARK: Learning

  /// Restores the statistics of an earlier run. A repair or another load changes the vibration, so new data
  /// reach the weight of the restored statistics in a third of the time.
  mutating func resume(standing: NavigationCalibration.Shaking, driving: NavigationCalibration.Shaking) {
    (still, moving) = (standing, driving)
    still.seconds = min(still.seconds, 20)
    moving.seconds = min(moving.seconds, 40)
  }

  /// Returns whether the vibration is that of a vehicle at rest; nil if too little was learned.
  func resemblesRest(_ features: SIMD4<Double>, _ parameters: Parameters) -> Bool? {
    guard still.seconds > 2, let ratio = logRatio(features) else { return nil }
    return ratio > parameters.stopThreshold
  }

  /// Learns from a fix.
  ///
  /// - Parameters:
  ///   - speed: the horizontal speed, m/s.
  ///   - limit: the largest speed that counts as rest, m/s.
  ///   - moving: the largest speed that does not count as motion, m/s.
  ///   - interval: the time since the previous fix, s.
  mutating func learn(
    speed: Double, limit: Double, moving least: Double, interval: Double, features: SIMD4<Double>
  ) {
    if speed < limit && lastSpeed < limit {
      stillTime += interval
      if stillTime > 1.2 { still.add(features, seconds: interval, memory: 60) }
    } else {
      stillTime = 0
      if speed > least && lastSpeed > least { moving.add(features, seconds: interval, memory: 120) }
    }
    lastSpeed = speed
  }

  /// Returns the log-likelihood ratio of rest to motion from the vibration; nil before motion was observed.
  private func logRatio(_ features: SIMD4<Double>) -> Double? {
    guard moving.seconds > 5 else { return nil }
    guard still.seconds > 2 else {
      // Vibration at rest was not learned yet. Every feature must therefore be lower than in motion, by more
      // than three standard deviations.
      var least = Double.infinity
      for i in 0..<4 {
        least = min(least, (moving.mean[i] - features[i]) / (moving.variance[i] + 0.25 * 0.25).squareRoot())
      }
      return 3 * (least - 3)
    }
    var sum = 0.0
    for i in 0..<4 {
      let (vs, vm) = (still.variance[i] + 0.15 * 0.15, moving.variance[i] + 0.25 * 0.25)
      // Vibration lower than at rest is no evidence against rest. Vibration stronger than in motion is no
      // evidence against motion.
      let (s, m) = (max(0, features[i] - still.mean[i]), min(0, features[i] - moving.mean[i]))
      sum += -0.5 * s * s / vs - 0.5 * log(vs) + 0.5 * m * m / vm + 0.5 * log(vm)
    }
    // The four features are not independent, so their sum has half the weight.
    return 0.5 * sum
  }

  // MARK: Deciding

  /// Checks every sample for the end of a stop.
  ///
  /// - Returns: the velocity in the device frame in m/s when the vehicle starts to move; nil otherwise.
  @inline(__always)
  mutating func observe(force: Vector3, seconds: Double, _ parameters: Parameters) -> Vector3? {
    guard quiet > 0 else { return nil }
    referenceTime += seconds
    let deviation = force - reference
    if referenceTime > 0.5 { drift += (deviation - drift / 2) * seconds }
    reference += max(seconds / max(referenceTime, seconds), seconds / 20) * deviation
    guard referenceTime > 0.8, drift.dot(drift) > parameters.startSpeed * parameters.startSpeed else {
      return nil
    }
    let wasStopped = isStopped(parameters)
    quiet = 0
    lockout = 1.5
    return wasStopped ? drift : .zero
  }

  /// Decides four times a second.
  ///
  /// - Parameters:
  ///   - force: the last sample in the device frame, m/s².
  ///   - sinceFix: the time since the last used fix in s; nil without a fix.
  /// - Returns: true if a stop is to be applied now.
  mutating func decide(
    _ filter: inout ErrorStateFilter, vibration: Vibration, force: Vector3, seconds: Double,
    sinceFix: Double?,
    _ parameters: Parameters
  ) -> Bool {
    sinceDecision += seconds
    guard sinceDecision >= 0.25 - 1e-6 else { return false }
    sinceDecision = 0
    let state = filter.state
    let speed = (state.velocity.x * state.velocity.x + state.velocity.y * state.velocity.y).squareRoot()
    let known =
      filter.covariance.variance(ErrorState.velocity) + filter.covariance.variance(ErrorState.velocity + 1)
    let biasDeviation = filter.covariance.variance(ofVector: ErrorState.gyroscopeBias).squareRoot()
    let turning = (vibration.meanRate - state.gyroscopeBias).length
    var isQuiet = false
    if let ratio = logRatio(vibration.features) {
      // The prior compares rest with any speed up to 30 m/s, as far as the uncertainty of the predicted speed
      // allows a decision. Without the second term, a wrong speed would outweigh any amount of quiet.
      let variance = known + 0.2 * 0.2
      let doubtful = parameters.stopDoubt * parameters.stopDoubt * variance
      let prior = max(
        min(3, log(30 / (2 * Double.pi * variance).squareRoot())) - 0.5 * speed * speed / variance,
        log(parameters.wrongSpeedShare) - 0.5 * speed * speed / doubtful)
      isQuiet = ratio + prior > parameters.stopThreshold && turning < 0.02 + 3 * biasDeviation
    }
    let isStopped = isStopped(parameters)
    if isStopped && speed > 0.3 { isQuiet = false }
    if let sinceFix, sinceFix < 1.5, lastSpeed > 0.5 { isQuiet = false }
    if lockout > 0 { isQuiet = false }
    let acceleration = filter.slowAcceleration
    let tilt =
      filter.covariance.variance(ErrorState.attitude) + filter.covariance.variance(ErrorState.attitude + 1)
    let horizontal =
      (acceleration.x * acceleration.x + acceleration.y * acceleration.y).squareRoot()
    // An acceleration may be an error of the tilt.
    let usual = 2 * 9.8 * tilt.squareRoot()
    let isDoubtful = !isStopped && horizontal > 0.1 + usual
    if isDoubtful, horizontal > 0.1 + parameters.stopDoubt * usual { isQuiet = false }
    lockout = max(0, lockout - 0.25)
    guard isQuiet else {
      if isStopped { filter.covariance.add(0.1 * 0.1, toVector: ErrorState.velocity) }
      quiet = 0
      return false
    }
    if quiet == 0 {
      (reference, drift, referenceTime) = (force, .zero, 0)
    }
    quiet += isDoubtful ? 0.25 * parameters.stopTime / parameters.doubtfulStopTime : 0.25
    return quiet >= parameters.stopTime
  }
}

extension NavigationCalibration.Shaking {
  @inline(__always)
  fileprivate mutating func add(_ features: SIMD4<Double>, seconds interval: Double, memory: Double) {
    seconds = min(seconds + interval, memory)
    let weight = interval / max(seconds, interval)
    let deviation = features - mean
    mean += weight * deviation
    variance = (1 - weight) * (variance + weight * deviation * deviation)
  }
}
