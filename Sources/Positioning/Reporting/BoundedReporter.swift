public import Spatial

/// A reporting policy with two promises: what a subscriber shows is never more than `epsilon` metres wrong, for the
/// moment `delay` seconds ago. Zero delay is dead reckoning.
///
/// The promise is for every fix that was let in by the end of its delay, and for those that a receiver would have given
/// while nobody looked: each report says for how long it is valid. A receiver that falls silent or asleep brings a last
/// report whose validity is what physics leaves of the bound (`UnwatchedMotion`); the report is sent before a subscriber shows
/// the first moment that is in doubt. An unexpected silence is noticed after 1.75 s at one fix a second: with a delay shorter
/// than that, what was shown meanwhile may have been wrong. A fix that `FixScreen` holds back for longer is told when it is
/// let in: reports then say its moment within epsilon, too, to whoever keeps them.
///
/// A report is decided as late as the promise allows: when a fix is not within epsilon of the prediction, its moment
/// is shown `delay` seconds later, and until then the fixes that follow it can be looked at. Nothing is lost by
/// waiting, since a report that takes effect earlier has to agree with more fixes and is chosen knowing fewer.
/// Everything that the wire rounds is rounded before it is checked.
///
/// Consumers that show the last reported position and do not predict are wrong by what the vehicle has driven since. For these,
/// `limits` cause a report when the vehicle is too far from the last reported position.
///
/// A value type without I/O: locations go in with their time, reports come out. Memory and time per fix are bounded.
public struct BoundedReporter: Sendable {
  /// More fixes than this are not looked at ahead, whatever the delay; the report is then decided early.
  public static let largestWindow = 600
  /// Seconds after the newest fix for which a report of a vehicle that is watched is valid; it is renewed before. So long a
  /// subscriber may be wrong that hears neither of the vehicle's end nor of the link's.
  public static let lease = 180.0
  /// The same while the accelerometer alone watches: parked vehicles are to speak rarely.
  public static let restLease = 3600.0

  /// Metres.
  public let epsilon: Double
  /// Seconds.
  public let delay: Double
  /// Limits on the distance between the last reported position and the vehicle.
  public let limits: [DisplacementLimit]
  /// The newest report decided; nil before the first.
  public internal(set) var report: ReportPredictor?
  /// Locations passed over because their time was not after the last one's, since the start.
  public private(set) var unorderedCount = 0

  private let choice: ReportChoice
  let physics: UnwatchedMotion
  /// The fixes that a report is needed for, from the one that broke the bound; empty while the report holds.
  private(set) var window: [MotionSample] = []
  /// The newest fix, whether needed or not, with the velocity that the receiver's noise leaves.
  private(set) var newest: MotionSample?
  private var estimate = VelocityEstimate()
  private(set) var cadence = FixCadence()
  var watch = Watch.receiver
  /// Whether the receiver is on.
  var isReceiverOn = true
  /// Since when the accelerometer feels rest; nil when it feels motion or there is none.
  var restSince: Timestamp?

  /// Who makes sure that the newest report holds.
  enum Watch: Sendable { case receiver, accelerometer, nobody }

  /// - Parameters:
  ///   - epsilon: metres, at least 0.1; smaller ones are taken as that.
  ///   - delay: seconds, 0 or more.
  ///   - activity: what carries the device: how fast and how suddenly it can move unseen.
  ///   - limits: limits for consumers that do not predict; each applies. None is smaller than `epsilon`.
  public init(
    epsilon: Double, delay: Double = 0, activity: ActivityType = .automotive,
    limits: [DisplacementLimit] = []
  ) {
    self.epsilon = epsilon > 0.1 ? epsilon : 0.1
    self.delay = delay > 0 ? delay : 0
    self.limits = limits
    choice = ReportChoice(bound: self.epsilon)
    physics = UnwatchedMotion(activity)
  }

  /// When something must be decided if no location comes before; nil while the last report holds without one.
  public var nextDeadline: Timestamp? {
    window.first?.timestamp.advanced(bySeconds: delay) ?? lapse
  }

  /// The moment from which on a report is still to be decided; nil while the last one holds.
  public var oldestOpen: Timestamp? { window.first?.timestamp }

  /// Takes a location; returns the reports that must be sent now, in the order in which they take effect.
  public mutating func process(_ location: Location) -> [ReportPredictor] {
    guard location.coordinate.isValid else { return [] }
    if let newest, location.timestamp <= newest.timestamp {
      unorderedCount += 1
      return []
    }
    // A deadline before this location would have been met without it.
    var reports = meetDeadlines { $0 < location.timestamp }
    let sample = MotionSample(location, after: newest)
    reports += closeGap(before: sample)
    if let newest, isReceiverOn { cadence.observe(sample.timestamp.seconds(since: newest.timestamp)) }
    isReceiverOn = true
    estimate.process(sample)
    newest = sample
    newest?.velocity = estimate.velocity
    newest?.velocityDeviation = max(sample.velocityDeviation, estimate.noise.squareRoot())
    let needsReport = !window.isEmpty || !holds(for: sample)
    if needsReport { window.append(sample) }
    if needsReport || watch == .nobody { watch = .receiver }
    reports += decide { $0 <= location.timestamp }
    if window.count >= Self.largestWindow { reports += decideOnce() }
    return reports + limitDisplacement()
  }

  /// Lets time pass without a location: call it at `nextDeadline`.
  public mutating func advance(to time: Timestamp) -> [ReportPredictor] {
    meetDeadlines { $0 <= time }
  }

  /// Decides what is still open, before a stop, and withdraws the promise for what comes after.
  public mutating func finish() -> [ReportPredictor] { settle(isStanding: false, mayRest: false) }

  private mutating func meetDeadlines(while isDue: (Timestamp) -> Bool) -> [ReportPredictor] {
    let decided = decide(while: isDue)
    // The position of a report is that of an earlier moment, from which the vehicle may have gone too far.
    return decided + (decided.isEmpty ? [] : limitDisplacement()) + renew(while: isDue)
  }

  mutating func decide(while isDue: (Timestamp) -> Bool) -> [ReportPredictor] {
    var reports: [ReportPredictor] = []
    while let first = window.first, isDue(first.timestamp.advanced(bySeconds: delay)) {
      reports += decideOnce()
    }
    return reports
  }

  private mutating func decideOnce() -> [ReportPredictor] {
    guard let first = window.first, let last = window.last,
      var chosen = choice.report(
        for: window[...], estimate: estimate, delay: delay)
    else { return [] }
    chosen.validity = last.timestamp.seconds(since: first.timestamp) + Self.lease
    chosen.growth = growth(of: chosen)
    chosen = chosen.rounded
    if !holds(chosen, for: first) {
      // An epsilon that the wire's rounding nearly fills leaves nothing to choose.
      chosen.coordinate = first.coordinate
      chosen = chosen.rounded
    }
    report = chosen
    // The first fix is always done with, so that the loop ends.
    let end = window.dropFirst().firstIndex { !holds(chosen, for: $0) } ?? window.endIndex
    window.removeFirst(end)
    return [chosen]
  }

  private func holds(for sample: MotionSample) -> Bool {
    report.map { holds($0, for: sample) } ?? false
  }

  /// Whether nothing need be said: the fix is within the bound, and so can be the next before the promise lapses.
  func holds(_ report: ReportPredictor, for sample: MotionSample) -> Bool {
    let next = sample.timestamp.advanced(bySeconds: cadence.silence)
    return report.error(of: sample.coordinate, at: sample.timestamp) + report.wireError <= epsilon
      && report.isPromised(at: next)
  }

  func growth(of report: ReportPredictor) -> Double {
    physics.topSpeed + report.velocity.squaredLength.squareRoot()
  }
}
