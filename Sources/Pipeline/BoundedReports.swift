internal import Positioning
internal import Spatial

/// Error- and delay-bounded reporting on the time line shared with subscribers: civil time in milliseconds,
/// as on the wire. The vehicle therefore predicts from the same numbers as its subscribers.
struct BoundedReports: Sendable {
  private var reporter: BoundedReporter
  private let activity: ActivityType
  /// Locations in civil time at which a report may still take effect, in order.
  private var recent: [Location] = []
  /// The location at which the newest report took effect.
  private var effective: Location?
  private var newest: Timestamp?
  /// Nanoseconds from civil time to the device's time line, by the newest location.
  private var offset: Int64 = 0

  /// A report with the location at which it takes effect.
  typealias Report = (predictor: ReportPredictor, location: Location)

  /// Maximum step back of civil time in s; after a larger one the past locations are discarded.
  private static let largestStepBack = 2.0

  /// - Parameters:
  ///   - error: error bound in m.
  ///   - delay: display delay in s.
  ///   - activity: type of motion.
  ///   - limits: limits on the distance between the last reported position and the vehicle.
  init(
    error: Double, delay: Double, activity: ActivityType = .automotive, limits: [DisplacementLimit] = []
  ) {
    reporter = BoundedReporter(epsilon: error, delay: delay, activity: activity, limits: limits)
    self.activity = activity
  }

  /// Time in s after the newest location for which the bound is guaranteed without another one; nil without a
  /// guarantee.
  var secondsUnwatched: Double? { reporter.secondsUnwatched }

  /// Next deadline on the device's time line.
  var nextDeadline: Timestamp? {
    reporter.nextDeadline.map { Timestamp(nanoseconds: $0.nanoseconds &+ offset) }
  }

  mutating func process(_ location: Location, time: UTCTime) -> [Report] {
    var reports: [Report] = []
    let moment = Self.milliseconds(time)
    if let newest, newest.seconds(since: moment) > Self.largestStepBack {
      reports = finish()
      self = BoundedReports(
        error: reporter.epsilon, delay: reporter.delay, activity: activity, limits: reporter.limits)
    }
    offset = location.timestamp.nanoseconds &- moment.nanoseconds
    newest = moment
    var sample = location
    sample.timestamp = moment
    let predictors = reporter.process(sample)
    // Reports have the attributes of fixes that the reporter considered.
    if reporter.newestMoment == moment { recent.append(sample) }
    return reports + pair(predictors)
  }

  /// - Parameter timestamp: time on the device's time line.
  mutating func advance(to timestamp: Timestamp) -> [Report] {
    pair(reporter.advance(to: civil(timestamp)))
  }

  /// Assumes that the vehicle remains at its last position until the next location, because observation
  /// stops.
  /// - Parameter isSeen: true if it was observed until now.
  mutating func stand(isSeen: Bool) -> [Report] { pair(reporter.stand(isSeen: isSeen)) }

  mutating func observe(isReceiverOn: Bool) { reporter.observe(isReceiverOn: isReceiverOn) }

  /// Updates whether the accelerometer reports rest, and since when; nil if unknown.
  mutating func observe(isAtRest: Bool?, since: Timestamp) -> [Report] {
    pair(reporter.observe(isAtRest: isAtRest, since: civil(since)))
  }

  /// Makes a report due with the next location, because subscribers received a position without a prediction.
  mutating func discardReport() { reporter.discardReport() }

  mutating func finish() -> [Report] { pair(reporter.finish()) }

  private mutating func pair(_ predictors: [ReportPredictor]) -> [Report] {
    let reports = predictors.compactMap { predictor in
      // Reports without a new fix, which withdraw or renew an earlier one, use the fix that they are based
      // on. A report for a moment between two fixes uses the first.
      effective = recent.last { $0.timestamp <= predictor.moment } ?? effective
      return effective.map { (predictor, $0) }
    }
    // A report takes effect at a fix that is still needed, or at the newest.
    let oldest = reporter.oldestOpen
    if let first = recent.lastIndex(where: { location in oldest.map { location.timestamp <= $0 } ?? true }) {
      recent.removeFirst(first)
    }
    return reports
  }

  private func civil(_ timestamp: Timestamp) -> Timestamp {
    Timestamp(nanoseconds: timestamp.nanoseconds &- offset)
  }

  private static func milliseconds(_ time: UTCTime) -> Timestamp {
    let rest = time.nanoseconds % 1_000_000
    return Timestamp(nanoseconds: time.nanoseconds - (rest < 0 ? rest + 1_000_000 : rest))
  }
}
