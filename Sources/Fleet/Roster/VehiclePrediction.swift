internal import Positioning
public import Spatial

/// The current position of a vehicle with bounded reporting, within its guaranteed error.
public struct PredictedPosition: Hashable, Sendable {
  /// The time on the vehicle's clock to which the position applies: the guaranteed delay ago.
  public var time: UTCTime
  public var coordinate: Coordinate
  /// The maximum distance to the vehicle's fix of that time, m. After the guarantee has expired, it grows
  /// with the largest possible speed.
  public var bound: Double
  /// True if the vehicle guarantees its bound for that time. It withdraws the guarantee if its position is no
  /// longer monitored.
  public var isPromised: Bool
}

/// The subscriber's side of bounded reporting, on the vehicle's own clock.
package struct VehiclePrediction: Sendable {
  private var follower = ReportFollower()
  /// The offset in nanoseconds from the vehicle's clock to the local clock if they are unrelated, as in the
  /// replay of an old recording. Otherwise 0, so that a late message does not shift the vehicle.
  private var skew: Int64 = 0

  /// The seconds after the end of a guarantee for which positions are still predicted.
  private static let gracePeriod = 120.0

  /// Applies a report.
  ///
  /// - Parameter clocksAgree: true if the message's time is plausible on the local clock.
  mutating func receive(_ report: ReportPredictor, at moment: Moment, clocksAgree: Bool) {
    // A report is sent after its time plus the delay.
    let sent = report.moment.advanced(bySeconds: report.delay)
    skew = clocksAgree ? 0 : moment.time.nanoseconds &- sent.nanoseconds
    follower.receive(report)
    follower.forget(before: vehicleTime(at: moment).advanced(bySeconds: -report.delay))
  }

  /// Returns the predicted position; nil before the first report takes effect, and from two minutes after the
  /// bound has ended.
  package func position(at now: Moment) -> PredictedPosition? {
    guard let shown = follower.position(now: vehicleTime(at: now)),
      shown.promisedUntil.map({ shown.moment.seconds(since: $0) <= Self.gracePeriod }) ?? true
    else { return nil }
    return PredictedPosition(
      time: UTCTime(nanoseconds: shown.moment.nanoseconds), coordinate: shown.coordinate, bound: shown.bound,
      isPromised: shown.isPromised)
  }

  /// The reports that the shown position can still require, in order of their validity.
  var reports: [ReportPredictor] {
    var found: [ReportPredictor] = []
    var end = Int64.max
    while let report = follower.report(for: Timestamp(nanoseconds: end)) {
      found.append(report)
      end = report.moment.nanoseconds &- 1
    }
    return found.reversed()
  }

  private func vehicleTime(at now: Moment) -> Timestamp {
    Timestamp(nanoseconds: now.time.nanoseconds &- skew)
  }
}
