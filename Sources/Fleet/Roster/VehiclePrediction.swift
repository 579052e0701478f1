internal import Positioning
public import Spatial

/// Where a vehicle that reports within bounds is now, as far as it promised.
public struct PredictedPosition: Hashable, Sendable {
  /// The moment on the vehicle's clock that it is for: the promised delay ago.
  public var time: UTCTime
  public var coordinate: Coordinate
  /// Metres: the vehicle's fix of that moment is within. Once the promise has lapsed, this grows as fast as the vehicle
  /// could get away.
  public var bound: Double
  /// Whether the vehicle promised its bound for that moment; it withdraws that when nothing watches over it.
  public var isPromised: Bool
}

/// A subscriber's side of bounded reporting, on the vehicle's own clock.
struct VehiclePrediction: Sendable {
  private var follower = ReportFollower()
  /// Nanoseconds from the vehicle's clock to ours where the two cannot be meant to agree, as in the replay of an old
  /// recording; otherwise none, so that a late message does not shift the vehicle.
  private var skew: Int64 = 0

  /// Seconds after which a promise that has lapsed is no ground for a prediction any more.
  private static let patience = 120.0

  /// Takes a report.
  ///
  /// - Parameter clocksAgree: whether the message's time can be one of our clock.
  mutating func receive(_ report: ReportPredictor, at moment: Moment, clocksAgree: Bool) {
    // A report is sent when the delay after its moment is over.
    let sent = report.moment.advanced(bySeconds: report.delay)
    skew = clocksAgree ? 0 : moment.time.nanoseconds &- sent.nanoseconds
    follower.receive(report)
    follower.forget(before: vehicleTime(at: moment).advanced(bySeconds: -report.delay))
  }

  func position(at now: Moment) -> PredictedPosition? {
    guard let shown = follower.position(now: vehicleTime(at: now)),
      shown.promisedUntil.map({ shown.moment.seconds(since: $0) <= Self.patience }) ?? true
    else { return nil }
    return PredictedPosition(
      time: UTCTime(nanoseconds: shown.moment.nanoseconds), coordinate: shown.coordinate, bound: shown.bound,
      isPromised: shown.isPromised)
  }

  /// The reports that what is shown may still need, in the order in which they take effect.
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
