internal import Glibc
internal import Spatial

/// Finds attitude and mounting from driving: twelve filters that differ in yaw, without the vehicle's constraints, of
/// which the receiver's positions and velocities leave one.
///
/// Multiple models after D. T. Magill (1965); the mounting follows from the direction in which the device moves at the end.
struct YawAlignment: Sendable {
  typealias Parameters = NavigationFilter.Parameters

  static let count = 12

  /// Which way was up in the device frame, of the last 20 s above 3 m/s: longer than a bend banks.
  private struct Upward: Sendable {
    var direction = Vector3.zero
    var seconds = 0.0
  }

  private var hypotheses: [ErrorStateFilter]
  private var upward = [Upward](repeating: Upward(), count: count)
  /// s since the start.
  private(set) var elapsed = 0.0
  private var sinceVerdict = 0.0

  init() {
    // One by one: copies of one would share its buffer until they are written.
    hypotheses = (0..<Self.count).map { _ in ErrorStateFilter() }
  }

  /// Starts anew.
  ///
  /// - Parameters:
  ///   - position: m, and its deviation by axis.
  ///   - velocity: m/s.
  ///   - level: from the device to a level frame.
  ///   - bias: rad/s, nil when there was no rest.
  mutating func begin(
    position: Vector3, deviation: Vector3, velocity: Vector3, level: Quaternion, bias: Vector3?,
    _ parameters: Parameters
  ) {
    let tilt = (bias == nil ? 6.0 : 2.0).radians
    let yaw = 2 * Double.pi / Double(Self.count)
    var deviations = ErrorVector.zero
    deviations.set(ErrorState.position, deviation + 2)
    deviations.set(ErrorState.velocity, Vector3(1, 1, 1))
    // 0.6 of the distance to the next, so that together they cover the circle evenly.
    deviations.set(ErrorState.attitude, Vector3(tilt, tilt, 0.6 * yaw))
    deviations.set(ErrorState.gyroscopeBias, Vector3(repeating: (bias == nil ? 3.0 : 0.05).radians))
    deviations.set(ErrorState.accelerometerBias, Vector3(repeating: 0.25))
    deviations.set(ErrorState.antennaLever, Vector3(repeating: 0.05))
    deviations[ErrorState.positionLatency] = parameters.latencyPrior
    deviations.set(ErrorState.gyroscopeScale, Vector3(repeating: 0.01))
    deviations[ErrorState.velocityLatency] = 0.1
    for index in 0..<Self.count {
      var state = NominalState()
      state.position = position
      state.velocity = velocity
      state.attitude = Quaternion(angle: Double(index) * yaw, axis: Vector3(0, 0, 1)) * level
      state.gyroscopeBias = bias ?? .zero
      hypotheses[index].begin(state, deviations: deviations)
      upward[index] = Upward()
    }
    (elapsed, sinceVerdict) = (0, 0)
  }

  /// Whether all hypotheses have a covariance that is due.
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
    for index in 0..<Self.count { _ = hypotheses[index].update(fix, now: now, gate: nil, parameters) }
  }

  enum Verdict: Hashable, Sendable {
    case undecided
    /// The hypothesis of this number is right.
    case found(Int)
    /// Nothing came of it in the time.
    case failed
  }

  /// Every two seconds.
  mutating func verdict(_ parameters: Parameters) -> Verdict {
    guard sinceVerdict >= 2 else { return .undecided }
    sinceVerdict = 0
    var best = 0
    for index in 1..<Self.count where hypotheses[index].logLikelihood > hypotheses[best].logLikelihood {
      best = index
    }
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

  /// Makes a filter of the hypothesis that was found, with the mounting that lets the vehicle go where it points now.
  func adopt(_ index: Int, into filter: inout ErrorStateFilter, _ parameters: Parameters) {
    var state = hypotheses[index].state
    state.mounting = Self.mounting(
      forward: state.attitude.conjugate.rotate(state.velocity), up: upward[index].direction)
    filter.adopt(hypotheses[index], state: state)
    filter.openMounting()
    // It has the attitude's and the velocity's errors, and this tells the covariance so: taken for errors of its own, what later
    // shows the one would seem to show the others.
    _ = filter.constrain(turning: filter.rate, parameters)
  }

  /// From the device to right, forward, up of the vehicle, of directions in the device frame.
  static func mounting(forward: Vector3, up: Vector3) -> Quaternion {
    guard let forward = forward.normalized, let up = (up - forward * up.dot(forward)).normalized else {
      return .identity
    }
    // First forward onto forward, then about it.
    let first = Quaternion.shortest(from: forward, to: Vector3(0, 1, 0))
    let turned = first.rotate(up)
    return (Quaternion(angle: -atan2(turned.x, turned.z), axis: Vector3(0, 1, 0)) * first).normalized
  }
}

extension ErrorStateFilter {
  /// Takes over what another has found, without sharing its buffer.
  mutating func adopt(_ other: ErrorStateFilter, state: NominalState) {
    begin(state, deviations: .zero)
    covariance.copy(other.covariance)
    continueMotion(of: other)
  }

  /// Makes mounting, levers and wheels unknown: a start knows only how the device was moved.
  mutating func openMounting() {
    // 30°: so wide that what is known of it is what the first constraint says.
    covariance.reset(ErrorState.mounting, deviation: 30.0.radians)
    // Roll about the vehicle's own forward axis shows in nothing that is measured; it follows from the ups.
    covariance.reset(ErrorState.mounting + 1, deviation: 0)
    covariance.reset(ErrorState.mounting + 2, deviation: 30.0.radians)
    covariance.reset(ErrorState.axleLever, deviation: 1)
    for axis in 0..<3 { covariance.reset(ErrorState.antennaLever + axis, deviation: 0.7) }
    covariance.reset(ErrorState.speedScale, deviation: 0.05)
  }
}
