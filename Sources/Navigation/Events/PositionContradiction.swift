internal import Glibc
internal import Sensors
internal import Spatial

/// Tells when the receiver says what all else contradicts.
///
/// What counts are metres in dispute: how far a position is from where navigation has carried it, beyond what both state as their
/// error, or what the receiver's speed makes that neither navigation nor wheels see. A receiver that is led astray so slowly that navigation
/// follows it shows in the wheels alone. Where navigation has come to believe the receiver the contradiction is over.
struct PositionContradiction: Sendable {
  /// s that it must last, and be over. A reflection beside a tall house lasts a second or two.
  private static let (onset, release) = (2.0, 10.0)
  /// s between two fixes that speeds are compared over, and that a wheel's speed is of use.
  private static let (longestStep, longestAge) = (3.0, 1.0)
  /// m/s and share by which a receiver's speed may differ from the wheels': worn tyres, wheelspin.
  private static let (wheelError, wheelShare) = (1.5, 0.1)
  /// m/s by which it may differ from navigation's, beside three deviations: the latency of a hard braking.
  private static let velocityError = 1.5
  /// m/s at which what was in dispute is forgotten.
  private static let forgetting = 3.0
  /// s without a fix that was believed after which navigation's own radius counts threefold: what comes after an outage corrects it.
  private static let (outage, doubt) = (12.0, 3.0)
  /// m of a fix that does not state its error.
  private static let usualError = 10.0

  private let limit: Double
  private var condition = LastingCondition(onset: onset, release: release)
  private var wheel: (timestamp: Timestamp, speed: Double)?
  private var newest: Timestamp?
  /// m that speeds have made.
  private var disputed = 0.0
  private var first: (peak: Double, coordinate: Coordinate, speed: Double)?
  private var event: DrivingEvent?

  init(limit: Double) { self.limit = limit }

  mutating func observe(wheelSpeed: Double, at timestamp: Timestamp) {
    if wheelSpeed.isFinite { wheel = (timestamp, wheelSpeed) }
  }

  /// Takes a fix before navigation does.
  /// - Parameter estimate: nil where navigation knows nothing: then the wheels alone judge.
  mutating func process(_ fix: PositionFix, _ estimate: NavigationEstimate?) -> DrivingEvent? {
    guard fix.mode != .noFix, fix.quality != .deadReckoning else { return nil }
    let now = fix.timestamp
    let step = newest.map { now.seconds(since: $0) } ?? 0
    guard step >= 0 else { return nil }
    newest = now
    addSpeeds(fix, estimate, seconds: step <= Self.longestStep ? step : 0)
    let distance = max(disputed, excess(fix, estimate) ?? 0)
    let holds = distance > limit
    if holds, let place = estimate?.antennaCoordinate ?? fix.coordinate {
      let speed = estimate?.speed ?? wheel?.speed ?? 0
      let peak = max(distance, first?.peak ?? 0)
      first = (peak, first?.coordinate ?? place, first?.speed ?? speed)
      let highest = max(event?.peak ?? 0, distance)
      event?.peak = highest
    } else if !condition.isOn {
      first = nil
    }
    switch condition.update(holds, at: now) {
    case .began(let since):
      guard let first else { return nil }
      let begun = DrivingEvent(
        .positionContradicted, start: since, duration: now.seconds(since: since), peak: first.peak,
        limit: limit, severity: severity(first.peak), confidence: certainty(first.peak),
        coordinate: first.coordinate, speed: first.speed, isOngoing: true)
      event = begun
      return begun
    case .ended(let time): return end(at: time)
    case nil: return nil
    }
  }

  /// Ends what goes on, as nobody looks any longer.
  mutating func finish(at now: Timestamp) -> DrivingEvent? {
    defer { condition.reset() }
    return end(at: condition.end(at: now))
  }

  private mutating func end(at time: Timestamp) -> DrivingEvent? {
    first = nil
    guard var over = event else { return nil }
    event = nil
    over.isOngoing = false
    over.duration = max(0, time.seconds(since: over.start))
    (over.severity, over.confidence) = (severity(over.peak), certainty(over.peak))
    return over
  }

  /// Metres beyond what both state; nil where they cannot be compared.
  private func excess(_ fix: PositionFix, _ estimate: NavigationEstimate?) -> Double? {
    guard let estimate, let coordinate = fix.coordinate, coordinate.isValid else { return nil }
    let error = fix.horizontalError.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil } ?? Self.usualError
    // The estimate is of the newest scan, the fix of its own time less a latency.
    let age = estimate.timestamp.seconds(since: fix.timestamp) + estimate.positionLatency
    let moved = abs(age) * estimate.speed
    let own = estimate.radius95 * (estimate.sinceFix > Self.outage ? Self.doubt : 1)
    return estimate.antennaCoordinate.distance(to: coordinate) - moved - own - error
  }

  private mutating func addSpeeds(_ fix: PositionFix, _ estimate: NavigationEstimate?, seconds: Double) {
    guard let speed = fix.speed, speed.isFinite else { return }
    var beyond = 0.0
    if let estimate, estimate.sinceFix <= Self.outage {
      let stated = fix.speedError.map { $0 / 1.96 } ?? 0.3
      let deviation = hypot(estimate.velocityDeviation, stated)
      beyond = abs(speed - estimate.speed) - Self.velocityError - 3 * deviation
    }
    if let wheel, abs(fix.timestamp.seconds(since: wheel.timestamp)) <= Self.longestAge {
      beyond = max(beyond, abs(speed - wheel.speed) - Self.wheelError - Self.wheelShare * wheel.speed)
    }
    disputed = max(0, disputed + seconds * (beyond > 0 ? beyond : -Self.forgetting))
    // What is forgotten must not take longer than it took to arise.
    disputed = min(disputed, 3 * limit)
  }

  private func severity(_ peak: Double) -> DrivingEvent.Severity {
    peak >= 10 * limit ? .high : peak >= 3 * limit ? .medium : .low
  }

  /// Errors of receivers have long tails: of what is beyond both radii, half as much again is one deviation.
  private func certainty(_ peak: Double) -> Double { chance(peak - limit / 2, deviation: limit / 2) }
}
