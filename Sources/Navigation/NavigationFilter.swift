internal import Glibc
public import Sensors
public import Spatial

/// A navigation filter that combines GNSS, inertial sensors, wheel speed and air pressure. Positions continue
/// during GNSS outages.
///
/// An error-state Kalman filter with 28 errors (see `ErrorStateFilter`) at the rate of the inertial samples.
/// It finds the mounting of the device automatically: a start runs twelve yaw hypotheses until the driving
/// excludes all but one (`YawAlignment`). The constraints of a vehicle, no side slip and exact rest, bound
/// the drift during an outage (`ErrorStateFilter.constrain`, `StopDetector`). After an outage the track
/// through it is corrected by later measurements (`OutageTrack`).
///
/// Scans have passed a `ScanScreen`. Fixes, speeds and pressures have times of the same monotonic clock as
/// the scans, and can be up to two seconds late. After `init`, only copies allocate memory.
public struct NavigationFilter: Sendable {
  public let parameters: Parameters
  public internal(set) var state = NavigationState.waiting(.noInertialSamples)
  public internal(set) var counters = NavigationCounters()

  var filter = ErrorStateFilter()
  var alignment = YawAlignment()
  var rest = RestObserver()
  var stops = StopDetector()
  var walk = WalkDetector()
  var consistency = ConsistencyMonitor()
  var height = PressureHeight()
  var latency: LatencyEstimator
  /// The latency in s for which the alignment was last revoked; nil if it never was.
  var revokedLatency: Double?
  /// The standard deviation in m of the position by a latency that differs from the filter's.
  var lateDistance = 0.0
  /// The time in s of accepted fixes in motion since the alignment, and that of consecutive rejected fixes.
  private var (confirmedTime, contradictedTime) = (0.0, 0.0)
  private var window = SampleWindow()
  private var sampling = ScanPairing()

  /// The time of the first scan. All other times in the filter are seconds since this time.
  var origin: Timestamp?
  /// The time of the last sample in s since the first scan.
  var now = 0.0
  /// The time since which samples arrive without a long gap, s.
  var sampledSince = 0.0
  private var previousForce = Vector3.zero
  private var previousRate = Vector3.zero
  private var hasSample = false
  /// The time since the last constraint, s.
  private var sinceConstraint = 0.0
  /// The sum of the corrections of the position during the current stop, m.
  private var stopShift = Vector3.zero

  var frame: LocalFrame?
  /// The altitude of the frame's origin, m.
  var frameAltitude = 0.0
  var earth = Earth(latitude: 45, altitude: 0)
  var receiver = ReceiverState()
  var differences = PositionDifferences()
  var outage = OutagePhase.none
  /// Fixes with a time after the last sample, which wait for it.
  var pendingFixes: [GNSSMeasurement] = []
  var pendingSpeed: (time: Double, speed: Double, deviation: Double?)?
  /// The calibration of an earlier run, until it is used or contradicted; nil if there is none.
  var kept: NavigationCalibration?
  var resumption = Resumption.none

  static let mostPendingFixes = 8
  /// The time in s of accepted fixes in motion that confirms an alignment, and the time of rejected fixes that revokes it
  /// before.
  private static let (confirmingTime, contradictingTime) = (20.0, 3.0)

  /// Creates a filter.
  ///
  /// - Parameters:
  ///   - calibration: the stored calibration of this device from an earlier run; discarded if it is
  ///     contradicted, and for a boat.
  ///   - keptAt: the time of the calibration by the clock of the scans, possibly negative. With this time,
  ///     navigation can resume from the stored position without a receiver. This requires that the vehicle is
  ///     at rest in its old attitude, or that it was moving and only seconds have passed. Nil if unknown: the
  ///     start then waits for a fix.
  public init(
    _ parameters: Parameters = Parameters(), calibration: NavigationCalibration? = nil,
    keptAt: Timestamp? = nil
  ) {
    self.parameters = parameters
    latency = LatencyEstimator(parameters)
    kept = calibration?.isValid == true && parameters.isAxisObservable ? calibration : nil
    if let kept { latency.expect(kept.positionLatency + kept.velocityLatency) }
    if kept != nil, let keptAt { resumption = .pending(keptAt) }
    filter.track.reserve()
    differences.reserve()
    pendingFixes.reserveCapacity(Self.mostPendingFixes + 1)
  }

  // MARK: Samples

  /// Processes an inertial scan (m/s², rad/s, device time). The magnetic field of the scan is not used.
  public mutating func process(_ scan: InertialScan) {
    switch sampling.pair(scan) {
    case .none: return
    case .missing(let reason):
      if case .waiting = state { state = .waiting(reason) }
    case .sample(let force, let rate): process(force: force, rate: rate, at: seconds(scan.timestamp))
    }
  }

  /// Returns the time in s since the first scan.
  mutating func seconds(_ timestamp: Timestamp) -> Double {
    guard let origin else {
      self.origin = timestamp
      return 0
    }
    return timestamp.seconds(since: origin)
  }

  private mutating func process(force: Vector3, rate: Vector3, at time: Double) {
    guard force.isFinite, rate.isFinite, force.dot(force) < 1e6, rate.dot(rate) < 1e4 else {
      counters.refusedSamples += 1
      return
    }
    guard hasSample else {
      (hasSample, now, previousForce, previousRate) = (true, time, force, rate)
      if state == .waiting(.noInertialSamples) { state = .waiting(.noFix) }
      return
    }
    let interval = time - now
    guard interval > 0 else {
      counters.refusedSamples += 1
      // If the clock was set back, later samples would be rejected for a long time, so the filter restarts.
      if interval < -1 { interrupt(at: time) }
      return
    }
    guard interval <= parameters.longestGap else {
      counters.gaps += 1
      (previousForce, previousRate) = (force, rate)
      interrupt(at: time)
      return
    }
    if interval > 0.3 { bridgeGap(interval) }
    let (meanForce, meanRate) = (0.5 * (force + previousForce), 0.5 * (rate + previousRate))
    (now, previousForce, previousRate) = (time, force, rate)
    window.add(force: force, rate: rate, seconds: interval)
    walk.add(force: force, seconds: interval)
    latency.add(force: meanForce, rate: meanRate, seconds: interval, time: time)
    switch state {
    case .waiting: rest.add(force: meanForce, rate: meanRate, seconds: interval)
    case .aligning:
      alignment.advance(rate: meanRate, force: meanForce, newest: rate, seconds: interval, earth: earth)
    case .aligned:
      filter.advance(rate: meanRate, force: meanForce, newest: rate, seconds: interval, earth: earth)
      if let start = stops.observe(force: meanForce, seconds: interval, parameters), start != .zero {
        filter.state.velocity += filter.state.attitude.rotate(start)
        filter.covariance.add(
          0.25 * parameters.startSpeed * parameters.startSpeed, toVector: ErrorState.velocity)
      }
    }
    sinceConstraint += interval
    closeStep(force: meanForce, rate: meanRate)
  }

  /// Continues after missing samples, with an increased uncertainty of the attitude.
  private mutating func bridgeGap(_ interval: Double) {
    counters.gaps += 1
    guard state == .aligned else { return }
    // During the gap, half of the rotation may have changed, and an acceleration of 1 m/s² may have occurred.
    let turn = 0.5 * (previousRate - filter.state.gyroscopeBias).length * interval + 0.02 * interval
    filter.covariance.add(turn * turn, toVector: ErrorState.attitude)
    filter.covariance.add(interval * interval, toVector: ErrorState.velocity)
  }

  // MARK: Steps

  /// Ends a step of the covariance, ten times a second and when a fix is due.
  private mutating func closeStep(force: Vector3, rate: Vector3) {
    let isFixDue = pendingFixes.first.map { $0.time <= now } ?? false
    switch state {
    case .waiting:
      if case .pending = resumption { resume() }
      if isFixDue { takeFixes() }
    case .aligning:
      guard alignment.isDue(parameters) || isFixDue else { return }
      alignment.propagate(vibration: window.vibration(seconds: 0.5, samples: 8), parameters)
      takeFixes()
      guard state == .aligning else { return }
      judgeAlignment()
    case .aligned:
      guard filter.pending >= parameters.covarianceInterval - 1e-6 || isFixDue else { return }
      let seconds = filter.pending
      filter.propagate(vibration: window.vibration(seconds: 0.5, samples: 8), parameters)
      var predicted = filter.state
      let isUnconfirmed = resumption.isUnconfirmed
      takeFixes()
      guard state == .aligned else { return }
      let sinceFix = receiver.lastFix.map { now - $0 }
      let isStopped = stops.decide(
        &filter, vibration: window.vibration(seconds: 1, samples: 16), force: force, seconds: seconds,
        sinceFix: sinceFix, parameters)
      if isStopped {
        if isUnconfirmed { filter.expectStop(&predicted) }
        filter.openVelocity(since: min(sinceAccepted, now), parameters)
        filter.stop(
          rate: window.vibration(seconds: 1, samples: 16).meanRate, shift: &stopShift, earth: earth,
          parameters)
      } else {
        stopShift = .zero
      }
      takeSpeed()
      if !isStopped, sinceConstraint >= parameters.constraintInterval - 1e-6 {
        sinceConstraint = 0
        let residuals = filter.constrain(turning: rate, parameters)
        consistency.observe(side: residuals.side, up: residuals.up)
      }
      if isUnconfirmed { filter.keepHeadingUnknown(since: predicted) }
      rememberOutage()
      judgeAccuracy()
    }
  }

  /// Processes the fixes up to the time of the last sample.
  private mutating func takeFixes() {
    while let fix = pendingFixes.first, fix.time <= now {
      pendingFixes.removeFirst()
      take(fix)
    }
  }

  private mutating func take(_ fix: GNSSMeasurement) {
    receiver.lastFix = fix.time
    if let velocity = fix.velocity ?? fix.difference?.value {
      let deviation = fix.difference?.deviation ?? fix.velocityDeviation
      let speed = hypot(velocity.x, velocity.y)
      walk.observe(speed: speed, deviation: deviation, interval: fix.interval)
      // The speed up to which the vehicle counts as at rest grows with the receiver's error. The speed above
      // which it counts as moving grows with the error of position differences, which can be fast even at
      // rest.
      stops.learn(
        speed: speed, limit: 0.15 + min(0.5, deviation),
        moving: 1.5 + (fix.difference.map { 2 * $0.deviation } ?? 0), interval: fix.interval,
        features: window.vibration(seconds: 1, samples: 16).features)
    }
    observeLatency(fix)
    switch state {
    case .waiting: considerStart(fix)
    case .aligning:
      alignment.update(fix, now: now, parameters)
      receiver.accept(fix)
    case .aligned: correct(fix)
    }
  }

  /// Updates the filter with a fix, or rejects it.
  private mutating func correct(_ fix: GNSSMeasurement) {
    guard !skipsRepeated(fix) else { return }
    let gates = receiver.refusals.gates(longest: parameters.longestRefusal)
    let refused = filter.update(fix, now: now, gates: gates, parameters)
    if case .unconfirmed = resumption, !confirmResumption(isRefused: refused.isContradicted) { return }
    guard confirmAlignment(fix, isRefused: refused.isContradicted) else { return }
    receiver.refusals.count(refused, gates: gates)
    if refused.isContradicted { counters.outliers += 1 }
    let isJump =
      gates.position == .opening && fix.position != nil || gates.velocity == .opening && fix.velocity != nil
    if isJump { counters.jumps += 1 }
    if refused.position == false { receiver.accept(fix) }
    recenter()
  }

  /// Revokes a new alignment that the receiver contradicts, before its error grows.
  ///
  /// - Returns: true if the filter is still aligned.
  private mutating func confirmAlignment(_ fix: GNSSMeasurement, isRefused: Bool) -> Bool {
    guard confirmedTime < Self.confirmingTime else { return true }
    guard isRefused else {
      contradictedTime = 0
      if hypot(filter.state.velocity.x, filter.state.velocity.y) > 3 { confirmedTime += fix.interval }
      return true
    }
    contradictedTime += fix.interval
    guard contradictedTime >= Self.contradictingTime else { return true }
    kept = nil
    giveUp(.contradicted)
    return false
  }

  // MARK: Start

  /// Starts an alignment when the receiver reports motion.
  private mutating func considerStart(_ fix: GNSSMeasurement) {
    receiver.accept(fix)
    guard let position = fix.position else {
      state = .waiting(.noFix)
      return
    }
    guard let velocity = fix.velocity ?? fix.difference?.value else {
      state = .waiting(.noVelocity)
      return
    }
    let speed = hypot(velocity.x, velocity.y)
    if speed < 0.8 { rest.observeStanding() }
    guard !walk.isWalking else {
      state = .waiting(.walking)
      return
    }
    if startFromKept(fix, speed: speed) { return }
    // A stored calibration requires a course, which is reliable from 3 m/s.
    guard speed > (kept == nil && fix.velocity != nil ? 1 : 3) else {
      state = .waiting(.standing)
      return
    }
    let vibration = window.vibration(seconds: 0.5, samples: 5)
    let level = rest.isKnown ? rest.level : .shortest(from: vibration.meanForce, to: Vector3(0, 0, 1))
    let late = startLatency(hasVelocity: fix.velocity != nil)
    alignment.begin(
      position: position + velocity * (now - fix.time + late.latency), deviation: fix.deviation,
      velocity: velocity,
      velocityDeviation: max(1, fix.difference?.deviation ?? 1),
      level: level, bias: rest.isKnown ? rest.rate : nil, latency: late, parameters)
    rest.reset()
    state = .aligning
  }

  private mutating func judgeAlignment() {
    if walk.isWalking { return giveUp(.walking) }
    switch alignment.verdict(parameters) {
    case .undecided: return
    case .failed: state = .waiting(.standing)
    case .found(let index):
      alignment.adopt(index, into: &filter, parameters)
      becomeAligned()
      judgeAccuracy()
    }
  }

  func vibration(seconds: Double = 0.5, samples: Double = 5) -> Vibration {
    window.vibration(seconds: seconds, samples: samples)
  }

  mutating func becomeAligned() {
    counters.alignments += 1
    receiver.refusals = GNSSRefusalCounts()
    consistency.reset()
    (sinceConstraint, lateDistance, confirmedTime, contradictedTime) = (0, 0, 0, 0)
    widen(filter.latency(ofVelocity: true).latency, 0)
    state = .aligned
  }

  /// Revokes the alignment and restarts, and retains what was learned about the sensors.
  mutating func giveUp(_ reason: NavigationState.Reason) {
    if state == .aligned { counters.realignments += 1 }
    if reason == .contradicted { counters.contradictions += 1 }
    state = .waiting(reason)
    rest.reset()
    stops.interrupt()
    filter.track.reset()
    outage = .none
    height.reset()
    resumption = .none
  }

  /// Restarts after a jump of the clock or a long gap, in which the sensors slept or a driver was blocked.
  private mutating func interrupt(at time: Double) {
    var pending: Timestamp?
    if case .pending(let keptAt) = resumption { pending = keptAt }
    if let known = calibration {
      kept = known
      // If the clock was set back, the duration of the gap is unknown.
      if time > now { pending = origin?.advanced(bySeconds: now) }
    }
    (now, sampledSince) = (time, time)
    window.reset()
    pendingFixes.removeAll(keepingCapacity: true)
    pendingSpeed = nil
    receiver = ReceiverState()
    differences.reset()
    walk.reset()
    latency.interrupt()
    if case .waiting = state {} else { giveUp(.gap) }
    resumption = pending.map { .pending($0) } ?? .none
  }
}
