public import Spatial
internal import VehicleData

/// The current position of a vehicle with bounded reporting, with its error bound.
public struct PredictedPosition: Hashable, Sendable {
  /// The time by the vehicle's clock to which the position applies. It is the current time minus the
  /// configured display delay.
  public var time: UTCTime
  public var coordinate: Coordinate
  /// The maximum distance in m to the vehicle's fix of that time. After the guarantee has ended, the distance
  /// grows with the maximum possible speed.
  public var bound: Double
  /// The radius in m that contains the vehicle: `bound` plus the stated accuracy of the fix. Nil if the accuracy
  /// is unknown.
  public var radius: Double?
  /// True if the vehicle guarantees the bound for that time. A vehicle withdraws the guarantee when its
  /// position is not observed any more.
  public var isPromised: Bool
}

/// Predicts the position of a vehicle from its reports, as a subscriber to bounded reporting. Times are by
/// the vehicle's clock.
package struct VehiclePrediction: Sendable {
  private var follower = ReportFollower()
  /// The offset in ns from the vehicle's clock to the local clock if the two clocks are unrelated, as in the
  /// replay of an old recording. Otherwise 0: a late message must not move the vehicle back in time.
  private var skew: Int64 = 0

  /// The time in s after the end of the guarantee for which positions are still predicted.
  private static let gracePeriod = 120.0
  /// The maximum latitude of a prediction in degrees: the plane of the prediction ends at the pole.
  private static let mostLatitude = 89.9
  /// The minimum step in s by which the vehicle's clock was set back if a later report has an earlier time.
  private static let clockStep = 60.0

  /// Processes a report.
  ///
  /// - Parameters:
  ///   - report: the report, with its prediction.
  ///   - moment: the time of arrival.
  ///   - clocksAgree: true if the report's time is plausible by the local clock.
  mutating func receive(_ report: ReportPredictor, at moment: Moment, clocksAgree: Bool) {
    // Vehicles send a report when the display delay has passed since its time.
    let sent = report.moment.advanced(bySeconds: report.delay)
    skew = clocksAgree ? 0 : moment.time.nanoseconds &- sent.nanoseconds
    if let last = newest, last.moment.seconds(since: report.moment) > Self.clockStep {
      follower = ReportFollower()
    }
    follower.receive(report)
    follower.forget(before: vehicleTime(at: moment).advanced(bySeconds: -report.delay))
  }

  /// Returns the predicted position. Nil before the first report takes effect, when the error bound has not
  /// been guaranteed for two minutes, and within 0.1° of a pole.
  package func position(at now: Moment) -> PredictedPosition? {
    guard let shown = follower.position(now: vehicleTime(at: now)),
      shown.promisedUntil.map({ shown.moment.seconds(since: $0) <= Self.gracePeriod }) ?? true,
      abs(shown.coordinate.latitude) <= Self.mostLatitude
    else { return nil }
    return PredictedPosition(
      time: UTCTime(nanoseconds: shown.moment.nanoseconds), coordinate: shown.coordinate, bound: shown.bound,
      radius: shown.radius, isPromised: shown.isPromised)
  }

  /// Returns whether the guarantee of the displayed position has ended. False before the first report takes
  /// effect.
  func hasLapsed(at now: Moment) -> Bool {
    follower.position(now: vehicleTime(at: now)).map { !$0.isPromised } ?? false
  }

  /// The next time at which `hasLapsed(at:)` can change without a report; nil if it cannot.
  func nextChange(after now: Moment) -> UTCTime? {
    let delay = newest?.delay ?? 0
    let ends = reports.flatMap { report in
      [report.moment] + (report.validity.map { [report.moment.advanced(bySeconds: $0)] } ?? [])
    }
    // A millisecond later, because of rounding.
    return ends.map { UTCTime(nanoseconds: $0.nanoseconds &+ skew).advanced(bySeconds: delay + 0.001) }
      .filter { $0 > now.time }.min()
  }

  private var newest: ReportPredictor? { follower.report(for: Timestamp(nanoseconds: .max)) }

  /// The reports that are required for the positions from now on, in order of their time.
  var reports: [ReportPredictor] {
    var found: [ReportPredictor] = []
    var end = Timestamp(nanoseconds: .max)
    while let report = follower.report(for: end) {
      found.append(report)
      end = Timestamp(nanoseconds: report.moment.nanoseconds &- 1)
    }
    return found.reversed()
  }

  private func vehicleTime(at now: Moment) -> Timestamp {
    Timestamp(nanoseconds: now.time.nanoseconds &- skew)
  }
}
