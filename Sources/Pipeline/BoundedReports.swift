package import Positioning
package import Spatial

/// Error- and delay-bounded reporting in civil time in milliseconds, the time used in messages. The vehicle
/// therefore predicts its position from the same numbers as its subscribers.
package struct BoundedReports: Sendable {
  private var reporter: BoundedReporter
  private let activity: ActivityType
  /// Locations at which a later report can still take effect, with civil times, in order of time.
  private var recent: [ShownLocation] = []
  /// The location at which the newest report took effect.
  private var effective: ShownLocation?
  private var newest: Timestamp?
  /// Nanoseconds to add to civil time for the device's monotonic time, as of the newest location.
  private var offset: Int64 = 0

  /// A report with the location at which it takes effect.
  package typealias Report = (predictor: ReportPredictor, location: ShownLocation)

  /// Maximum step back of civil time in s. After a larger step, the stored locations are discarded.
  private static let largestStepBack = 2.0

  /// - Parameters:
  ///   - error: error bound in m.
  ///   - delay: display delay in s.
  ///   - activity: type of motion.
  ///   - limits: limits on the distance between the last reported position and the vehicle.
  package init(
    error: Double, delay: Double, activity: ActivityType = .automotive, limits: [DisplacementLimit] = []
  ) {
    reporter = BoundedReporter(epsilon: error, delay: delay, activity: activity, limits: limits)
    self.activity = activity
  }

  /// Time in s after the newest location for which the bound is guaranteed even without another location; nil
  /// if no bound is guaranteed.
  var secondsUnwatched: Double? { reporter.secondsUnwatched }

  /// Time of the next call of `advance` by the device's monotonic clock; nil if none is due.
  package var nextDeadline: Timestamp? {
    reporter.nextDeadline.map { Timestamp(nanoseconds: $0.nanoseconds &+ offset) }
  }

  /// - Parameter isRequired: true to report the location immediately, even if it is within the bound of the last report.
  package mutating func process(
    _ location: ShownLocation, time: UTCTime, isRequired: Bool = false
  ) -> [Report] {
    var reports: [Report] = []
    let moment = Self.milliseconds(time)
    if let newest, newest.seconds(since: moment) > Self.largestStepBack {
      reports = finish()
      restart()
    }
    offset = location.timestamp.nanoseconds &- moment.nanoseconds
    newest = moment
    let sample = location.dated(moment, time: location.time)
    let predictors = reporter.process(sample.location, isRequired: isRequired)
    // Reports have the attributes of fixes that the reporter considered.
    if reporter.newestMoment == moment { recent.append(sample) }
    return reports + pair(predictors)
  }

  /// - Parameter timestamp: time by the device's monotonic clock.
  package mutating func advance(to timestamp: Timestamp) -> [Report] {
    pair(reporter.advance(to: civil(timestamp)))
  }

  /// Reports that the vehicle remains at its last position until the next location, because the position is
  /// no longer observed.
  /// - Parameter isSeen: true if the vehicle was observed at that position until now.
  mutating func stand(isSeen: Bool) -> [Report] { pair(reporter.stand(isSeen: isSeen)) }

  package mutating func observe(isReceiverOn: Bool) { reporter.observe(isReceiverOn: isReceiverOn) }

  /// Updates whether the accelerometer reports rest, and since when; nil if unknown.
  package mutating func observe(isAtRest: Bool?, since: Timestamp) -> [Report] {
    pair(reporter.observe(isAtRest: isAtRest, since: civil(since)))
  }

  /// Makes a report due at the next location, because subscribers have received a position without a
  /// prediction.
  mutating func discardReport() { reporter.discardReport() }

  /// Discards all locations and reports, without a report.
  mutating func restart() {
    self = BoundedReports(
      error: reporter.epsilon, delay: reporter.delay, activity: activity, limits: reporter.limits)
  }

  package mutating func finish() -> [Report] { pair(reporter.finish()) }

  private mutating func pair(_ predictors: [ReportPredictor]) -> [Report] {
    let reports = predictors.compactMap { predictor in
      // A report that withdraws or renews an earlier report has no fix of its own, and uses the fix of the
      // earlier report. A report for a time between two fixes uses the first of them.
      effective = recent.last { $0.timestamp <= predictor.moment } ?? effective
      return effective.map { (predictor, $0) }
    }
    // Removes locations at which no later report can take effect: those older than the oldest one that the
    // reporter still needs. If it needs none, only the newest location is retained.
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
