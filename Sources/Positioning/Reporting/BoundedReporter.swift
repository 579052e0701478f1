public import Spatial
public import VehicleData

/// A reporting policy with bounded error and delay: the position displayed by a subscriber for the time
/// `delay` seconds ago is accurate to `epsilon` metres. A delay of zero is dead reckoning.
///
/// The bound applies to every fix accepted by the end of its delay, and each report states its validity. In an
/// outage, a position from inertial sensors replaces the missing fix: at each moment, the sum of the
/// prediction's error and twice the accuracy of that position is within the bound.
///
/// In a gap between two fixes, the bound applies to the positions that a subscriber displays after the gap. The
/// vehicle is assumed to follow a cubic within a margin (`GapPath`); if that leaves the bound, another report
/// is sent. After a longer gap, and if a receiver becomes silent or sleeps, a last report states for how long
/// the vehicle cannot leave the bound (`UnwatchedMotion`). It is sent before a subscriber displays the first
/// position whose bound is uncertain, but not before the silence is detected: after 1.75 s at one fix a
/// second, and after at most 10.25 s with a receiver that often omits fixes (`FixCadence`). With a shorter
/// delay, no bound applies to the positions displayed meanwhile. A fix that `FixScreen` delays further is
/// published when it is accepted. For subscribers that store reports, the position stored for the time of
/// that fix is then within epsilon, too.
///
/// A report is decided as late as possible: a fix outside of the prediction is displayed `delay` seconds
/// later, and until then the following fixes can be considered. Waiting has no disadvantage, because an
/// earlier report must agree with more fixes and is chosen with less information. All rounding of the wire
/// format is applied before the check.
///
/// Consumers that show the last reported position without prediction are wrong by the distance driven since.
/// For them, `limits` cause a report when the vehicle is too far from the last reported position.
///
/// A value type without I/O: locations go in with their time, reports come out. Memory and time per fix are
/// bounded.
public struct BoundedReporter: Sendable {
  /// Maximum number of fixes that are considered before a report is decided. If it is reached, the report is
  /// decided before its delay has passed.
  public static let largestWindow = 600
  /// Validity in s of a report after the newest fix, while the receiver monitors a vehicle in motion. The
  /// report is renewed earlier. This is the longest time for which a subscriber may be wrong after an unnoticed
  /// loss of vehicle and link. At rest the validity is as long as the rest until then, at most `restLease`.
  public static let lease = 180.0
  /// Maximum share of the bound for the error of a position from inertial sensors or between fixes. If less
  /// remained for the prediction, it would require a report every few seconds.
  static let largestMargin = 0.75
  /// Validity in s of a report that only the accelerometer monitors. It is long, because parked vehicles
  /// should publish rarely.
  public static let restLease = 3600.0

  /// Error bound of the displayed position in m.
  public let epsilon: Double
  /// Display delay in s.
  public let delay: Double
  /// Limits on the distance between the last reported position and the vehicle.
  public let limits: [DisplacementLimit]
  /// The newest decided report; nil before the first.
  public internal(set) var report: ReportPredictor?
  /// Number of locations ignored since the start because they were not later than the previous one.
  public private(set) var unorderedCount = 0

  private let choice: ReportChoice
  let physics: UnwatchedMotion
  /// Fixes that require a new report, from the first fix outside of the bound; empty while the report is
  /// valid.
  var window: [MotionSample] = []
  /// The newest fix, with a velocity from which the receiver's noise is filtered.
  private(set) var newest: MotionSample?
  private var estimate = VelocityEstimate()
  private(set) var cadence: FixCadence
  var watch = Watch.receiver
  /// True if the receiver is on.
  var isReceiverOn = true
  /// Start of the rest reported by the accelerometer; nil in motion, and without an accelerometer.
  var restSince: Timestamp?

  /// Start of the time in which the receiver's speed has been that of a vehicle at rest and its positions are within
  /// the bound of the first one; nil in motion.
  var slowStart: (timestamp: Timestamp, coordinate: Coordinate)?

  /// The sensor that monitors whether the vehicle stays within the bound of the newest report.
  enum Watch: Sendable { case receiver, accelerometer, nobody }

  /// - Parameters:
  ///   - epsilon: error bound in m, at least 0.1; smaller values count as 0.1.
  ///   - delay: display delay in s, 0 or more.
  ///   - activity: type of motion, which limits unobserved motion.
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
    cadence = FixCadence(delay: self.delay, bound: self.epsilon)
  }

  /// The next time at which a decision is due without a location; nil while the last report remains valid
  /// without a location.
  public var nextDeadline: Timestamp? {
    window.first?.timestamp.advanced(bySeconds: delay) ?? lapse
  }

  /// Time of the newest position that was considered; nil before the first.
  public var newestMoment: Timestamp? { newest?.timestamp }

  /// Time of the first fix that requires a new report; nil while the last report is valid.
  public var oldestOpen: Timestamp? { window.first?.timestamp }

  /// Processes a location. Returns the reports that must be sent now, in the order in which they take effect.
  /// - Parameter isRequired: true to report the location immediately, even if it is within the bound of the last report.
  public mutating func process(_ location: Location, isRequired: Bool = false) -> [ReportPredictor] {
    guard location.coordinate.isValid else { return [] }
    if let newest, location.timestamp <= newest.timestamp {
      unorderedCount += 1
      return []
    }
    // Deadlines before the time of this location are handled first, without the location.
    var reports = meetDeadlines { $0 < location.timestamp }
    let sample = MotionSample(location, after: newest)
    // A position that is too inaccurate counts as missing, and none that is more accurate is to be expected.
    guard sample.margin <= Self.largestMargin * epsilon else {
      return watch == .receiver ? reports + settle(isStanding: false, mayRest: true) : reports
    }
    reports += closeGap(before: sample)
    let previous = newest
    if let newest, isReceiverOn { cadence.observe(sample.timestamp.seconds(since: newest.timestamp)) }
    isReceiverOn = true
    estimate.process(sample)
    newest = sample
    newest?.velocity = estimate.velocity
    newest?.velocityDeviation = max(sample.velocityDeviation, estimate.noise.squareRoot())
    observeRest(sample, speed: location.speed)
    let needsReport = !window.isEmpty || !holds(for: sample)
    if needsReport {
      if window.isEmpty, let previous, startsReport(previous, before: sample) { window.append(previous) }
      window.append(sample)
    }
    if needsReport || watch == .nobody { watch = .receiver }
    reports += decide { $0 <= location.timestamp }
    while window.count >= Self.largestWindow { reports += decideOnce() }
    return reports + limitDisplacement(isRequired: isRequired)
  }

  /// Makes a report due with the next location, because subscribers received a position without a prediction.
  public mutating func discardReport() { (report, window) = (nil, []) }

  /// Advances the time without a location. Call it at `nextDeadline`.
  public mutating func advance(to time: Timestamp) -> [ReportPredictor] {
    meetDeadlines { $0 <= time }
  }

  /// Decides open reports before a stop, and ends the validity of the last one.
  public mutating func finish() -> [ReportPredictor] { settle(isStanding: false, mayRest: false) }

  private mutating func meetDeadlines(while isDue: (Timestamp) -> Bool) -> [ReportPredictor] {
    let decided = decide(while: isDue)
    // A report contains the position of an earlier time. Since then, the vehicle may have exceeded a
    // displacement limit.
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
    chosen.validity = last.timestamp.seconds(since: first.timestamp) + lease(at: last.timestamp)
    chosen.growth = growth(of: chosen)
    chosen = chosen.rounded
    if !holds(chosen, for: first) {
      // If the rounding of the wire format moves the prediction out of the bound, the position of the fix is
      // used.
      chosen.coordinate = first.coordinate
      chosen = chosen.rounded
    }
    report = chosen
    // At least the first fix is removed from the window, so that the loop ends.
    let end = window.dropFirst().firstIndex { !holds(chosen, for: $0) } ?? window.endIndex
    window.removeFirst(end)
    return [chosen]
  }

  /// Returns whether the report for a sample takes effect at the previous one, because the bound applies to all
  /// moments between inertial positions. There is none to correct if these are already displayed.
  private func startsReport(_ previous: MotionSample, before sample: MotionSample) -> Bool {
    watch == .receiver && report != nil && previous.margin + sample.margin > 0 && delay >= sample.interval
  }

  func holds(for sample: MotionSample) -> Bool {
    report.map { holds($0, for: sample) } ?? false
  }

  /// Returns whether a report is still sufficient: the fix is within its bound, and its validity lasts until the
  /// next fix. After an inertial position, the report also applies to the moments that are displayed before the
  /// next one.
  func holds(_ report: ReportPredictor, for sample: MotionSample) -> Bool {
    let next = sample.timestamp.advanced(bySeconds: cadence.silence)
    func isWithin(_ sample: MotionSample) -> Bool {
      let error = report.error(of: sample.coordinate, at: sample.timestamp) + report.wireError
      return error + sample.margin <= epsilon
    }
    guard isWithin(sample), report.isPromised(at: next) else { return false }
    return sample.margin == 0 || delay >= sample.interval || isWithin(sample.next)
  }

  func growth(of report: ReportPredictor) -> Double {
    physics.topSpeed + report.velocity.squaredLength.squareRoot()
  }
}
