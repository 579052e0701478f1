internal import Glibc
public import Sensors
public import Spatial

/// A monitor for a receiver that contradicts all other sources.
///
/// It measures the disputed distance in metres. This is the distance between a fix and navigation in excess
/// of their stated errors, or the integrated difference between the receiver's speed and the speed of
/// navigation and wheels. A slow spoofing that navigation follows is only visible in the wheel speed. The
/// contradiction ends when navigation accepts the receiver again.
public struct PositionContradiction: Sendable {
  /// The source that contradicts the receiver.
  public enum Source: Hashable, Sendable {
    case navigation
    case wheels
  }

  /// The time in s for which a contradiction must last before it starts (`onset`), and be absent before it
  /// ends (`release`). A reflection at a tall building lasts a second or two.
  private static let (onset, release) = (2.0, 10.0)
  /// The longest interval in s between two fixes whose speeds are compared, and the maximum age of a wheel
  /// speed.
  private static let (longestStep, longestAge) = (3.0, 1.0)
  /// The tolerated difference between the speeds of receiver and wheels, in m/s and as a share, which covers
  /// worn tyres and wheelspin.
  private static let (wheelError, wheelShare) = (1.5, 0.1)
  /// The tolerated difference between the velocities of receiver and navigation in m/s, in addition to three
  /// standard deviations. It covers the latency during hard braking.
  private static let velocityError = 1.5
  /// The rate in m/s at which the disputed distance decays.
  private static let forgetting = 3.0
  /// The time in s without an accepted fix, after which navigation's radius is multiplied by a factor. The
  /// first fix after an outage corrects navigation and is no contradiction.
  private static let (outage, doubt) = (12.0, 3.0)
  /// The assumed error in m of a fix without a stated error.
  private static let usualError = 10.0

  /// The time in s for which wheels above `slowestWheels` (m/s) must have agreed with the receiver, before
  /// they can contradict it. A wrong scale of the wheel speed is more likely than a spoofed receiver.
  private static let (wheelAgreement, slowestWheels) = (20.0, 3.0)

  private let limit: Double
  private var condition = LastingCondition(onset: onset, release: release)
  private var wheel: (timestamp: Timestamp, speed: Double)?
  private var newest: Timestamp?
  /// The disputed distance in m from differences of speeds.
  private var disputed = 0.0
  private var first: (peak: Double, coordinate: Coordinate, speed: Double)?
  private var event: DrivingEvent?
  /// The time in s for which the wheels have agreed with the receiver.
  private var agreed = 0.0
  /// The source of the greatest disputed distance since the contradiction began, and that distance in m; nil
  /// without a contradiction.
  private var source: (source: Source, distance: Double)?

  /// The source that contradicts the receiver now, and the largest disputed distance in m; nil without a contradiction.
  public var dispute: (source: Source, distance: Double)? {
    guard condition.isOn, let source, source.source == .navigation || agreed >= Self.wheelAgreement else {
      return nil
    }
    return source
  }

  public init(limit: Double = DrivingEventLimits().contradiction) { self.limit = limit }

  public mutating func observe(wheelSpeed: Double, at timestamp: Timestamp) {
    if wheelSpeed.isFinite { wheel = (timestamp, wheelSpeed) }
  }

  /// Returns the newest wheel speed in m/s; nil if it is too old.
  public func wheelSpeed(at now: Timestamp) -> Double? {
    wheel.flatMap { abs(now.seconds(since: $0.timestamp)) <= Self.longestAge ? $0.speed : nil }
  }

  /// Processes a fix that the navigation filter has not processed yet.
  /// - Parameter estimate: nil if navigation has none; then only the wheels are compared.
  @discardableResult
  public mutating func process(_ fix: PositionFix, _ estimate: NavigationEstimate?) -> DrivingEvent? {
    guard fix.mode != .noFix, fix.quality != .deadReckoning else { return nil }
    let now = fix.timestamp
    let step = newest.map { now.seconds(since: $0) } ?? 0
    guard step >= 0 else { return nil }
    newest = now
    let isByWheels = addSpeeds(fix, estimate, seconds: step <= Self.longestStep ? step : 0)
    let excess = excess(fix, estimate) ?? 0
    let distance = max(disputed, excess)
    let holds = distance > limit
    if holds, distance > source?.distance ?? 0 {
      source = (isByWheels && disputed > excess ? .wheels : .navigation, distance)
    }
    defer { if !condition.isOn, !holds { source = nil } }
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

  /// Ends an ongoing event, because the monitor stops.
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

  /// Returns the distance in m between a fix and an estimate, in excess of their stated errors; nil if they
  /// cannot be compared.
  private func excess(_ fix: PositionFix, _ estimate: NavigationEstimate?) -> Double? {
    guard let estimate, let coordinate = fix.coordinate, coordinate.isValid else { return nil }
    let error = fix.horizontalError.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil } ?? Self.usualError
    // The estimate is for the time of the latest scan. The fix was measured `positionLatency` seconds before
    // its timestamp.
    let age = estimate.timestamp.seconds(since: fix.timestamp) + estimate.positionLatency
    let moved = abs(age) * estimate.speed
    let own = estimate.radius95 * (estimate.sinceFix > Self.outage ? Self.doubt : 1)
    return estimate.antennaCoordinate.distance(to: coordinate) - moved - own - error
  }

  /// Adds differences of speeds to the disputed distance. Returns true if the wheels contradict the receiver
  /// more than navigation does.
  private mutating func addSpeeds(
    _ fix: PositionFix, _ estimate: NavigationEstimate?, seconds: Double
  ) -> Bool {
    guard let speed = fix.speed, speed.isFinite else { return false }
    var isByWheels = false
    var beyond = 0.0
    if let estimate, estimate.sinceFix <= Self.outage {
      let stated = fix.speedError.map { $0 / 1.96 } ?? 0.3
      let deviation = hypot(estimate.velocityDeviation, stated)
      beyond = abs(speed - estimate.speed) - Self.velocityError - 3 * deviation
    }
    if let wheel, abs(fix.timestamp.seconds(since: wheel.timestamp)) <= Self.longestAge {
      let difference = abs(speed - wheel.speed) - Self.wheelError - Self.wheelShare * wheel.speed
      isByWheels = difference > max(0, beyond)
      beyond = max(beyond, difference)
      if difference <= 0, min(speed, wheel.speed) >= Self.slowestWheels { agreed += seconds }
    }
    disputed = max(0, disputed + seconds * (beyond > 0 ? beyond : -Self.forgetting))
    // The distance is limited, so that its decay does not last longer than its growth.
    disputed = min(disputed, 3 * limit)
    return isByWheels
  }

  private func severity(_ peak: Double) -> DrivingEvent.Severity {
    peak >= 10 * limit ? .high : peak >= 3 * limit ? .medium : .low
  }

  /// Returns the probability of a contradiction. Receiver errors have long tails: for distances beyond both
  /// radii, half of the limit counts as one standard deviation.
  private func certainty(_ peak: Double) -> Double { chance(peak - limit / 2, deviation: limit / 2) }
}
