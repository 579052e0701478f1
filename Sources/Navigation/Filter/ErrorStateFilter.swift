internal import Glibc
internal import Spatial

/// The error-state Kalman filter: state, covariance, propagation and measurement updates.
///
/// It is one hypothesis of the vehicle's motion and of the device's mounting. An alignment runs twelve of
/// these filters, normal operation one. Earth frame: east, north, up about the origin of a local frame.
/// Vehicle frame: right, forward, up.
struct ErrorStateFilter: Sendable {
  typealias Parameters = NavigationFilter.Parameters

  var state = NominalState()
  var covariance = ErrorCovariance()
  /// The track during an outage, corrected by all later measurements.
  var track = OutageTrack()
  /// The acceleration in the earth frame without gravity in m/s², low-passed over 0.15 s. It is used to
  /// correct late measurements.
  private(set) var acceleration = Vector3.zero
  /// The acceleration in the earth frame without gravity in m/s², low-passed over 0.5 s.
  private(set) var slowAcceleration = Vector3.zero
  /// The rotation rate of the last sample in the device frame, bias included, rad/s.
  private(set) var rate = Vector3.zero
  /// The sum of the log-likelihoods of all GNSS measurements so far, without the constant term.
  private(set) var logLikelihood = 0.0
  private(set) var recent = RecentMotion()
  private var attitude = RotationMatrix.identity
  private var step = Transition()

  /// The time since the covariance was propagated, s.
  @inline(__always)
  var pending: Double { step.duration }

  mutating func begin(_ state: NominalState, deviations: ErrorVector) {
    self.state = state
    covariance.reset(deviations: deviations)
    attitude = RotationMatrix(state.attitude)
    step = Transition()
    (acceleration, slowAcceleration, rate) = (.zero, .zero, .zero)
    logLikelihood = 0
    recent.reset()
    track.reset()
  }

  /// Copies the motion of another filter.
  mutating func continueMotion(of other: ErrorStateFilter) {
    (acceleration, slowAcceleration, rate) = (other.acceleration, other.slowAcceleration, other.rate)
    (attitude, step, recent) = (other.attitude, other.step, other.recent)
  }

  // MARK: Mechanization

  /// Advances the state by one sample, which is the mean rate (rad/s) and the mean force (m/s²) of an
  /// interval in the device frame, biases included.
  @inline(__always)
  mutating func advance(rate: Vector3, force: Vector3, newest: Vector3, seconds: Double, earth: Earth) {
    self.rate = newest
    let bodyRate =
      (rate - state.gyroscopeBias) * (1 + state.gyroscopeScale) - earth.rate(in: attitude)
    let turned = (state.attitude * Quaternion(rotationVector: bodyRate * seconds)).normalized
    let next = RotationMatrix(turned)
    let specific = force - state.accelerometerBias
    let earthForce = 0.5 * (attitude * specific + next * specific)
    let motion = earthForce + earth.apparentAcceleration(velocity: state.velocity)
    state.position += (state.velocity + 0.5 * seconds * motion) * seconds
    state.velocity += motion * seconds
    recent.add(force: earthForce, seconds: seconds, latency: state.positionLatency)
    acceleration += (motion - acceleration) * min(1, seconds / NavigationEstimate.accelerationTime)
    slowAcceleration += (motion - slowAcceleration) * min(1, seconds / 0.5)
    state.attitude = turned
    attitude = next
    step.add(force: earthForce, attitude: next, rate: bodyRate, seconds: seconds)
  }

  /// Propagates the covariance over the samples since the last call.
  mutating func propagate(vibration: Vibration, _ parameters: Parameters) {
    let seconds = step.duration
    guard seconds > 0 else { return }
    covariance.propagate(step)
    track.propagate(step)
    step = Transition()
    func squared(_ value: Double) -> Double { value * value }
    let interval = max(parameters.fittedInterval, min(parameters.longestInterval, vibration.interval))
    let fitted = parameters.fittedInterval
    let gyroscope =
      squared(parameters.gyroscopeNoise)
      + squared(parameters.gyroscopeVibration) * vibration.rateEnergy
      * (1 + vibration.rateEnergy / squared(parameters.gyroscopeShock))
      + squared(parameters.gyroscopeSampling) * vibration.unresolvedRate
      * (interval * interval * interval - fitted * fitted * fitted)
    let accelerometer =
      squared(parameters.accelerometerNoise)
      + squared(parameters.accelerometerVibration) * vibration.forceEnergy
      * (interval / fitted + vibration.forceEnergy / squared(parameters.accelerometerShock))
    let bias =
      squared(parameters.accelerometerBiasWalk)
      + squared(parameters.accelerometerBiasVibration) * vibration.forceEnergy
    covariance.add(accelerometer * seconds, toVector: ErrorState.velocity)
    covariance.add(gyroscope * seconds, toVector: ErrorState.attitude)
    covariance.add(squared(parameters.gyroscopeBiasWalk) * seconds, toVector: ErrorState.gyroscopeBias)
    covariance.add(bias * seconds, toVector: ErrorState.accelerometerBias)
    covariance.add(squared(parameters.mountingWalk) * seconds, toVector: ErrorState.mounting)
    covariance.add(squared(parameters.gyroscopeScaleWalk) * seconds, toVector: ErrorState.gyroscopeScale)
    covariance.add(squared(parameters.antennaLeverWalk) * seconds, toVector: ErrorState.antennaLever)
    covariance.add(squared(parameters.axleLeverWalk) * seconds, to: ErrorState.axleLever)
    covariance.add(squared(parameters.latencyWalk) * seconds, to: ErrorState.positionLatency)
    covariance.add(squared(1e-4) * seconds, to: ErrorState.velocityLatency)
    covariance.add(squared(parameters.speedScaleWalk) * seconds, to: ErrorState.speedScale)
  }

  // MARK: Measurement

  /// Updates the state with a scalar measurement.
  ///
  /// - Parameters:
  ///   - row: the derivative of the measurement by the error state.
  ///   - residual: measured minus predicted value.
  ///   - variance: the variance of the measurement.
  ///   - gate: the normalized squared innovation above which the measurement is rejected; nil accepts every
  ///     value.
  /// - Returns: the innovation.
  @inline(__always) @discardableResult
  mutating func update(_ row: ErrorVector, residual: Double, variance: Double, gate: Double?) -> Innovation {
    let (gain, predicted) = covariance.projected(row)
    return apply(row, gain: gain, residual: residual, total: predicted + variance, gate: gate)
  }

  /// Updates the state with a scalar measurement whose projection is known.
  ///
  /// - Parameters:
  ///   - gain: P hᵀ of the row.
  ///   - total: the variance of the residual.
  @inline(__always)
  mutating func apply(
    _ row: ErrorVector, gain: ErrorVector, residual: Double, total: Double, gate: Double? = nil
  ) -> Innovation {
    let ratio = residual * residual / total
    // The condition also rejects NaN.
    guard total > 0, ratio <= gate ?? 1e12 else {
      return Innovation(ratio: ratio, variance: total, isRefused: true)
    }
    track.update(row, gain: gain, residual: residual, variance: total)
    covariance.reduce(gain, innovationVariance: total)
    let correction = gain.scaled(by: residual / total)
    state.add(correction)
    recent.correct(
      turn: correction.vector(ErrorState.attitude),
      bias: attitude * correction.vector(ErrorState.accelerometerBias))
    return Innovation(ratio: ratio, variance: total, isRefused: false)
  }

  /// Adds a measurement to the likelihood of the hypothesis.
  mutating func observe(_ innovation: Innovation) {
    logLikelihood -= 0.5 * (innovation.ratio + log(innovation.variance))
  }

  /// Adapts the covariance after corrections that moved the state away from `before`, so that the heading
  /// remains unobservable.
  ///
  /// Without a receiver the heading is not observable: a drive rotated with its position and velocity gives
  /// the same measurements. The covariance describes this rotation for the velocity at the time of
  /// propagation. After a correction of the velocity, the non-holonomic constraint would interpret the
  /// difference as information about the heading (G. P. Huang, A. I. Mourikis, S. I. Roumeliotis,
  /// "Observability-based rules for designing consistent EKF SLAM estimators", 2010). The remedy is the error
  /// definition of A. Barrau, S. Bonnabel, "The invariant extended Kalman filter as a stable observer", 2017.
  mutating func keepHeadingUnknown(since before: NominalState) {
    let (position, velocity) = (state.position - before.position, state.velocity - before.velocity)
    covariance.turn(position: position, velocity: velocity)
    track.turn(position: position, velocity: velocity)
  }

  /// Adapts the covariance before a stop in the same way as `keepHeadingUnknown`, because the stop sets the
  /// velocity to zero. The heading of a vehicle at rest is not observable either.
  mutating func expectStop(_ before: inout NominalState) {
    covariance.turn(position: .zero, velocity: -before.velocity)
    track.turn(position: .zero, velocity: -before.velocity)
    before.velocity = .zero
  }

  /// Recomputes the attitude matrix, once after all updates of a step.
  mutating func refresh() { attitude = RotationMatrix(state.attitude) }
}

/// The result of a measurement update.
struct Innovation: Hashable, Sendable {
  /// The squared residual divided by its variance.
  var ratio: Double
  /// The predicted variance of the residual, in the square of the measurement's unit.
  var variance: Double
  var isRefused: Bool
}
