internal import Positioning
internal import Spatial

/// Error- and delay-bounded reporting on the time that subscribers share with the vehicle: civil time to the millisecond,
/// as the wire has it. So the vehicle predicts from the very numbers that its subscribers predict from.
struct BoundedReports: Sendable {
  private var reporter: BoundedReporter
  private let activity: ActivityType
  /// Locations on the civil time line that a report may still take effect at, in order.
  private var recent: [Location] = []
  /// The one at which the newest report took effect.
  private var effective: Location?
  private var newest: Timestamp?
  /// Nanoseconds from civil time to the device's time line, by the newest location.
  private var offset: Int64 = 0

  /// A report, and the location at which it takes effect.
  typealias Report = (predictor: ReportPredictor, location: Location)

  /// Seconds that civil time may go back before what is known of the past is given up.
  private static let largestStepBack = 2.0

  /// - Parameters:
  ///   - error: metres.
  ///   - delay: seconds.
  ///   - activity: what carries the device.
  ///   - limits: limits on the distance between the last reported position and the vehicle.
  init(
    error: Double, delay: Double, activity: ActivityType = .automotive, limits: [DisplacementLimit] = []
  ) {
    reporter = BoundedReporter(epsilon: error, delay: delay, activity: activity, limits: limits)
    self.activity = activity
  }

  /// Seconds after the newest location for which the promise holds unseen; nil when nothing is promised of it.
  var secondsUnwatched: Double? { reporter.secondsUnwatched }

  /// On the device's time line.
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
    recent.append(sample)
    return reports + pair(reporter.process(sample))
  }

  /// - Parameter timestamp: on the device's time line.
  mutating func advance(to timestamp: Timestamp) -> [Report] {
    pair(reporter.advance(to: civil(timestamp)))
  }

  /// Nobody looks until the next location, and the vehicle is taken to stand where it was last seen.
  /// - Parameter isSeen: whether it was seen until now.
  mutating func stand(isSeen: Bool) -> [Report] { pair(reporter.stand(isSeen: isSeen)) }

  mutating func observe(isReceiverOn: Bool) { reporter.observe(isReceiverOn: isReceiverOn) }

  /// Learns whether the accelerometer feels rest, and since when; nil when it cannot say.
  mutating func observe(isAtRest: Bool?, since: Timestamp) -> [Report] {
    pair(reporter.observe(isAtRest: isAtRest, since: civil(since)))
  }

  mutating func finish() -> [Report] { pair(reporter.finish()) }

  private mutating func pair(_ predictors: [ReportPredictor]) -> [Report] {
    let reports = predictors.compactMap { predictor in
      // What is withdrawn or renewed without a fix goes with the fix that it rests upon.
      effective = recent.last { $0.timestamp == predictor.moment } ?? effective
      return effective.map { (predictor, $0) }
    }
    // A report takes effect at a fix that one is still needed for, or at the newest.
    if let oldest = reporter.oldestOpen ?? recent.last?.timestamp {
      recent.removeAll { $0.timestamp < oldest }
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
