internal import Spatial
internal import Telemetry

/// The delay of live statuses, from which a clock that is behind is found.
///
/// A message with an old time can come from a backlog. Two kinds of live messages cannot: a status `asleep`,
/// which a vehicle writes when its queue is empty, and statuses whose times advance as fast as the local clock.
/// A backlog arrives faster than it was written.
struct ClockComparison: Sendable {
  /// The maximum difference in s between the delays of statuses for the same lag.
  private static let tolerance = 10.0
  /// The time in s for which the delay must not change.
  private static let duration = 30.0

  /// The delay of the first of the compared statuses in s.
  private let delay: Double
  private let since: Moment
  /// The seconds by which the clock is behind; nil while it is unknown.
  let lag: Double?

  /// Compares the clocks by a live status.
  /// - Parameters:
  ///   - status: the status.
  ///   - arrival: the time of its arrival.
  ///   - last: the comparison of the status before; nil if there is none.
  /// - Returns: nil if the status is not delayed.
  init?(_ status: StatusMessage, at arrival: Moment, after last: Self?) {
    let delay = arrival.time.seconds(since: status.time)
    guard delay > VehicleRecord.futureLimit else { return nil }
    let former = last.flatMap { abs(delay - $0.delay) > Self.tolerance ? nil : $0 }
    (self.delay, since) = (former?.delay ?? delay, former?.since ?? arrival)
    let isSteady = arrival.seconds(since: since) >= Self.duration
    lag = status.state == .asleep || isSteady ? delay : former?.lag
  }
}
