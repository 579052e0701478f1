internal import Glibc
internal import Spatial

/// The filter proper: the state, its covariance, and how both advance and take measurements.
///
/// It is one hypothesis of where the vehicle is and how the device sits in it. A start runs twelve of them, a drive one.
/// Earth frame: east, north, up about the origin of a local frame. Vehicle frame: right, forward, up.
struct ErrorStateFilter: Sendable {
  typealias Parameters = NavigationFilter.Parameters

  var state = NominalState()
  var covariance = Covariance()
  /// Where it was during an outage, corrected by all that follows.
  var track = OutageTrack()
  /// m/s² in the earth frame, gravity taken off, low-passed over 0.15 s: what a late measurement is corrected with.
  private(set) var acceleration = Vector3.zero
  /// The same over 0.5 s.
  private(set) var slowAcceleration = Vector3.zero
  /// rad/s, device frame, bias included: of the newest sample.
  private(set) var rate = Vector3.zero
  /// Log-likelihood of the GNSS measurements so far, without its constant.
  private(set) var logLikelihood = 0.0
  private var attitude = RotationMatrix.identity
  private var step = Transition()

  /// s since the covariance was propagated.
  @inline(__always)
  var pending: Double { step.duration }

  mutating func begin(_ state: NominalState, deviations: ErrorVector) {
    self.state = state
    covariance.reset(deviations: deviations)
    attitude = RotationMatrix(state.attitude)
    step = Transition()
    (acceleration, slowAcceleration, rate) = (.zero, .zero, .zero)
    logLikelihood = 0
    track.reset()
  }

  /// Takes over how another was moving.
  mutating func continueMotion(of other: ErrorStateFilter) {
    (acceleration, slowAcceleration, rate) = (other.acceleration, other.slowAcceleration, other.rate)
    (attitude, step) = (other.attitude, other.step)
  }

  // MARK: Mechanization

  /// Advances by one sample: the mean rate (rad/s) and force (m/s²) of an interval, device frame, biases included.
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
    acceleration += (motion - acceleration) * min(1, seconds / NavigationEstimate.accelerationTime)
    slowAcceleration += (motion - slowAcceleration) * min(1, seconds / 0.5)
    state.attitude = turned
    attitude = next
    step.add(force: earthForce, attitude: next, rate: bodyRate, seconds: seconds)
  }

  /// Propagates the covariance over the samples since the last time.
  mutating func propagate(vibration: Vibration, _ parameters: Parameters) {
    let seconds = step.duration
    guard seconds > 0 else { return }
    covariance.propagate(step)
    track.propagate(step)
    step = Transition()
    func squared(_ value: Double) -> Double { value * value }
    let gyroscope =
      squared(parameters.gyroscopeNoise)
      + squared(parameters.gyroscopeVibration) * vibration.rateEnergy
      * (1 + vibration.rateEnergy / squared(parameters.gyroscopeShock))
    let accelerometer =
      squared(parameters.accelerometerNoise)
      + squared(parameters.accelerometerVibration) * vibration.forceEnergy
      * (1 + vibration.forceEnergy / squared(parameters.accelerometerShock))
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

  /// Takes one number that was measured.
  ///
  /// - Parameters:
  ///   - row: how the measurement changes with the error state.
  ///   - residual: measured less predicted.
  ///   - variance: of the measurement.
  ///   - gate: squared deviations at which it is refused; nil takes it whatever it says.
  /// - Returns: the squared residual in units of its variance, and whether it was refused.
  @inline(__always) @discardableResult
  mutating func update(_ row: ErrorVector, residual: Double, variance: Double, gate: Double?) -> Innovation {
    let (gain, predicted) = covariance.projected(row)
    let total = predicted + variance
    let ratio = residual * residual / total
    // Not a number is refused too.
    guard total > 0, ratio <= gate ?? 1e12 else {
      return Innovation(ratio: ratio, variance: total, isRefused: true)
    }
    track.update(row, gain: gain, residual: residual, variance: total)
    covariance.reduce(gain, innovationVariance: total)
    var correction = gain
    let scale = residual / total
    for index in 0..<ErrorState.count { correction[index] *= scale }
    state.add(correction)
    return Innovation(ratio: ratio, variance: total, isRefused: false)
  }

  /// Counts a measurement in the likelihood of the hypothesis.
  mutating func observe(_ innovation: Innovation) {
    logLikelihood -= 0.5 * (innovation.ratio + log(innovation.variance))
  }

  /// Keeps an unknown heading unknown when corrections have moved the state away from `before`.
  ///
  /// Without a receiver nothing shows the heading: turned with its position and velocity, the whole drive would look the
  /// same. The covariance describes that turn for the velocity at the time of its propagation. Once that is corrected, the
  /// constraint would seem to see the difference, and the heading to be known (G. P. Huang, A. I. Mourikis,
  /// S. I. Roumeliotis, "Observability-based rules for designing consistent EKF SLAM estimators", 2010; the remedy is the
  /// error of A. Barrau, S. Bonnabel, "The invariant extended Kalman filter as a stable observer", 2017).
  mutating func keepHeadingUnknown(since before: NominalState) {
    let (position, velocity) = (state.position - before.position, state.velocity - before.velocity)
    covariance.turn(position: position, velocity: velocity)
    track.turn(position: position, velocity: velocity)
  }

  /// The same ahead of a stop, whose velocity is known to be zero: a vehicle that stands shows no heading either.
  mutating func expectStop(_ before: inout NominalState) {
    covariance.turn(position: .zero, velocity: -before.velocity)
    track.turn(position: .zero, velocity: -before.velocity)
    before.velocity = .zero
  }

  /// The attitude was corrected; its matrix follows once for all updates of a step.
  mutating func refresh() { attitude = RotationMatrix(state.attitude) }
}

/// What came of an update.
struct Innovation: Hashable, Sendable {
  /// The squared residual in units of its variance.
  var ratio: Double
  /// The variance that was expected of the residual.
  var variance: Double
  var isRefused: Bool
}
