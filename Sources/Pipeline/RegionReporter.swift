internal import Positioning
internal import Spatial
internal import Telemetry

/// Decides when `regions/state` is due: shortly after regions or their states have changed, with all changes
/// since the last message. It is also due once after the start, because the retained message may be outdated.
struct RegionReporter: Sendable {
  /// Time in s for which changes are collected, so that all decisions by one fix are in one message.
  private static let settlingTime = 0.5
  /// Minimum time in s between two messages. Each crossing is also published immediately, as a `region`
  /// message.
  private static let interval = 10.0

  private var seen: Int?
  private var newsSince: Timestamp?
  private var lastPublished: Timestamp?
  private var told: (source: RegionsStateMessage.Source?, count: Int, regions: [RegionStatus])?
  /// True if the next message is due even if it equals the last one.
  private var isRequested = false

  var nextDeadline: Timestamp? {
    guard let newsSince else { return nil }
    let settled = newsSince.advanced(bySeconds: Self.settlingTime)
    return max(settled, lastPublished?.advanced(bySeconds: Self.interval) ?? settled)
  }

  mutating func observe(_ monitor: RegionMonitor, at time: Timestamp) {
    guard monitor.revision != seen else { return }
    seen = monitor.revision
    newsSince = newsSince ?? time
  }

  /// Makes the next message due immediately, even if it equals the last one.
  mutating func requestNow(at time: Timestamp) {
    (newsSince, lastPublished, isRequested) = (time.advanced(bySeconds: -Self.settlingTime), nil, true)
  }

  /// Returns the message if it is due, and differs from the last one or was requested; nil otherwise.
  mutating func due(
    _ monitor: RegionMonitor, source: RegionsStateMessage.Source?, at time: Timestamp, utc: UTCTime
  ) -> RegionsStateMessage? {
    guard let deadline = nextDeadline, deadline <= time else { return nil }
    return pending(monitor, source: source, at: time, utc: utc)
  }

  /// Returns the message if there are changes, even if it is not due yet; nil otherwise.
  mutating func pending(
    _ monitor: RegionMonitor, source: RegionsStateMessage.Source?, at time: Timestamp, utc: UTCTime
  ) -> RegionsStateMessage? {
    guard newsSince != nil else { return nil }
    newsSince = nil
    defer { isRequested = false }
    let isEmpty = monitor.count == 0
    // Without regions now or before, the retained message cannot be outdated.
    if isEmpty, told == nil, !monitor.hasOtherStates { return nil }
    let message = RegionsStateMessage(
      time: utc, source: isEmpty ? nil : source, count: monitor.count,
      regions: monitor.statuses(limit: RegionsStateMessage.limit))
    if !isRequested, let told, told == (message.source, message.count, message.regions) { return nil }
    told = (message.source, message.count, message.regions)
    // A message in which all regions are undecided does not start the interval, so that the first decision is
    // published immediately.
    lastPublished = message.regions.allSatisfy { $0.state == .unknown } ? nil : time
    return message
  }
}
