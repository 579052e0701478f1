internal import Glibc
internal import Spatial

/// An estimator of attitude and mounting from driving. Twelve filters with different yaw angles run without
/// the vehicle constraints, until the receiver's positions and velocities agree with only one of them.
///
/// The method is that of multiple models by D. T. Magill (1965). The mounting follows from the final
/// direction of motion.
struct YawAlignment: Sendable {
  typealias Parameters = NavigationFilter.Parameters

  static let count = 12

  /// The vertical in the device frame, averaged over the last 20 s above 3 m/s. This is longer than a bend in
  /// which the vehicle rolls.
  private struct Upward: Sendable {
    var direction = Vector3.zero
    var seconds = 0.0
  }

  private var hypotheses: [ErrorStateFilter]
  private var upward = [Upward](repeating: Upward(), count: count)
  /// The time since the start of the alignment in s.
  private(set) var elapsed = 0.0
  private var sinceVerdict = 0.0
  /// The receiver's latency in s at the start, at least 0.
  private var late = 0.0

  /// The standard deviation of the acceleration in m/s² before the start.
  private static let acceleration = 1.0
  /// The standard deviation of the latency of velocities in addition to that of positions, s.
  static let velocityLatency = 0.1

  init() {
    // The filters are created one by one, because copies of a filter would share a buffer until their first
    // write.
    hypotheses = (0..<Self.count).map { _ in ErrorStateFilter() }
  }

  /// Restarts all hypotheses.
  ///
  /// - Parameters:
  ///   - position: position in m.
  ///   - deviation: standard deviation of the position by axis in m.
  ///   - velocity: m/s.
  ///   - velocityDeviation: standard deviation of the horizontal velocity by axis in m/s.
  ///   - level: the rotation from the device to a level frame.
  ///   - bias: gyroscope bias in rad/s; nil if the device was never at rest.
  mutating func begin(
    position: Vector3, deviation: Vector3, velocity: Vector3, velocityDeviation: Double, level: Quaternion,
    bias: Vector3?, latency: LatencyEstimator.Estimate,
    _ parameters: Parameters
  ) {
    let tilt = (bias == nil ? 6.0 : 2.0).radians
    let yaw = 2 * Double.pi / Double(Self.count)
    var deviations = ErrorVector.zero
    let late = max(0, latency.latency)
    let plane = velocityDeviation + Self.acceleration * late
    deviations.set(ErrorState.position, deviation + 2 + Self.acceleration * late * late)
    deviations.set(ErrorState.velocity, Vector3(plane, plane, 1))
    // The deviation is 0.6 of the angle to the next hypothesis, so that together the hypotheses cover the
    // circle evenly.
    deviations.set(ErrorState.attitude, Vector3(tilt, tilt, 0.6 * yaw))
    deviations.set(ErrorState.gyroscopeBias, Vector3(repeating: (bias == nil ? 3.0 : 0.05).radians))
    deviations.set(ErrorState.accelerometerBias, Vector3(repeating: 0.25))
    deviations.set(ErrorState.antennaLever, Vector3(repeating: 0.05))
    deviations.set(ErrorState.gyroscopeScale, Vector3(repeating: 0.01))
    deviations[ErrorState.velocityLatency] = Self.velocityLatency
    // The position is that of the fix, moved by the latency.
    var cause = ErrorVector.zero
    cause[ErrorState.positionLatency] = latency.deviation
    cause.set(ErrorState.position, velocity * latency.deviation)
    for index in 0..<Self.count {
      var state = NominalState()
      state.position = position
      state.velocity = velocity
      state.attitude = Quaternion(angle: Double(index) * yaw, axis: Vector3(0, 0, 1)) * level
      state.gyroscopeBias = bias ?? .zero
      state.positionLatency = latency.latency
      hypotheses[index].begin(state, deviations: deviations)
      hypotheses[index].covariance.add(common: cause)
      upward[index] = Upward()
    }
    (elapsed, sinceVerdict) = (0, 0)
    self.late = late
  }

  /// Returns the receiver's latency by the best hypothesis.
  func latency(ofVelocity isVelocity: Bool) -> LatencyEstimator.Estimate {
    hypotheses[best].latency(ofVelocity: isVelocity)
  }

  private var best: Int {
    var best = 0
    for index in 1..<Self.count where hypotheses[index].logLikelihood > hypotheses[best].logLikelihood {
      best = index
    }
    return best
  }

  /// Returns whether the covariances of all hypotheses must be propagated.
  func isDue(_ parameters: Parameters) -> Bool {
    hypotheses[0].pending >= parameters.covarianceInterval - 1e-6
  }

  @inline(__always)
  mutating func advance(rate: Vector3, force: Vector3, newest: Vector3, seconds: Double, earth: Earth) {
    for index in 0..<Self.count {
      hypotheses[index].advance(rate: rate, force: force, newest: newest, seconds: seconds, earth: earth)
    }
    elapsed += seconds
    sinceVerdict += seconds
  }

  mutating func propagate(vibration: Vibration, _ parameters: Parameters) {
    let seconds = hypotheses[0].pending
    for index in 0..<Self.count {
      hypotheses[index].propagate(vibration: vibration, parameters)
      let state = hypotheses[index].state
      upward[index].direction *= 1 - seconds / 20
      guard state.velocity.length > 3 else { continue }
      upward[index].direction += seconds * state.attitude.conjugate.rotate(Vector3(0, 0, 1))
      upward[index].seconds += seconds
    }
  }

  mutating func update(_ fix: GNSSMeasurement, now: Double, _ parameters: Parameters) {
    // The motion before the start is unknown.
    guard late == 0 || elapsed - (now - fix.time) >= late else { return }
    for index in 0..<Self.count { _ = hypotheses[index].update(fix, now: now, gates: .none, parameters) }
  }

  enum Verdict: Hashable, Sendable {
    case undecided
    /// The hypothesis with this index was found to be correct.
    case found(Int)
    /// The time limit passed without a result.
    case failed
  }

  /// Returns the current verdict, at most every two seconds.
  mutating func verdict(_ parameters: Parameters) -> Verdict {
    guard sinceVerdict >= 2 else { return .undecided }
    sinceVerdict = 0
    let best = best
    let chosen = hypotheses[best]
    guard chosen.state.isFinite, chosen.covariance.isValid else { return .failed }
    if elapsed >= 8 - 1e-6, upward[best].seconds > 1.5,
      chosen.covariance.variance(ErrorState.attitude + 2).squareRoot() < parameters.alignmentDeviation,
      hypot(chosen.state.velocity.x, chosen.state.velocity.y) > parameters.alignmentSpeed
    {
      var lead = Double.infinity
      for index in 0..<Self.count {
        let apart = (hypotheses[index].state.attitude * chosen.state.attitude.conjugate).angle
        if apart > 15.0.radians { lead = min(lead, chosen.logLikelihood - hypotheses[index].logLikelihood) }
      }
      if lead > parameters.alignmentLead { return .found(best) }
    }
    return elapsed >= parameters.alignmentTime ? .failed : .undecided
  }

  /// Initializes a filter from the selected hypothesis, with the mounting for which the vehicle's forward
  /// direction is the current direction of motion.
  func adopt(_ index: Int, into filter: inout ErrorStateFilter, _ parameters: Parameters) {
    var state = hypotheses[index].state
    state.mounting = Self.mounting(
      forward: state.attitude.conjugate.rotate(state.velocity), up: upward[index].direction)
    filter.adopt(hypotheses[index], state: state)
    filter.openMounting()
    // The mounting is computed from attitude and velocity, so it has their errors. This constraint creates
    // the correlation in the covariance. Without it, later updates would count the same information twice.
    _ = filter.constrain(turning: filter.rate, parameters)
  }

  /// Returns the rotation from the device to the vehicle frame (right, forward, up), from two directions in
  /// the device frame.
  static func mounting(forward: Vector3, up: Vector3) -> Quaternion {
    guard let forward = forward.normalized, let up = (up - forward * up.dot(forward)).normalized else {
      return .identity
    }
    // The first rotation turns the device's forward direction to the y axis; the second turns about the y
    // axis until `up` is vertical.
    let first = Quaternion.shortest(from: forward, to: Vector3(0, 1, 0))
    let turned = first.rotate(up)
    return (Quaternion(angle: -atan2(turned.x, turned.z), axis: Vector3(0, 1, 0)) * first).normalized
  }
}

extension ErrorStateFilter {
  /// Copies the result of another filter without sharing its buffer.
  mutating func adopt(_ other: ErrorStateFilter, state: NominalState) {
    begin(state, deviations: .zero)
    covariance.copy(other.covariance)
    continueMotion(of: other)
  }

  /// Resets the deviations of mounting, lever arms and wheel scale: the alignment has only observed the
  /// motion of the device.
  mutating func openMounting() {
    // 30° is wide enough that the first constraint determines the mounting.
    covariance.reset(ErrorState.mounting, deviation: 30.0.radians)
    // Roll about the vehicle's forward axis is not observable by the constraint. It was determined from the
    // vertical.
    covariance.reset(ErrorState.mounting + 1, deviation: 0)
    covariance.reset(ErrorState.mounting + 2, deviation: 30.0.radians)
    covariance.reset(ErrorState.axleLever, deviation: 1)
    for axis in 0..<3 { covariance.reset(ErrorState.antennaLever + axis, deviation: 0.7) }
    covariance.reset(ErrorState.speedScale, deviation: 0.05)
  }
}
