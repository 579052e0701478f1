internal import Positioning
internal import Spatial
internal import Telemetry

/// Decides when `regions/state` is due: soon after a change of regions or states, with all changes since, and
/// once after the start, because a retained message may be outdated.
struct RegionReporter: Sendable {
  /// Time in s for which changes are collected, so that all decisions by one fix form one message.
  private static let settlingTime = 0.5
  /// Minimum time in s between messages. Each crossing is published immediately as `region`.
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

  /// Returns the message if it is due and contains changes; nil otherwise.
  mutating func due(
    _ monitor: RegionMonitor, source: RegionsStateMessage.Source?, at time: Timestamp, utc: UTCTime
  ) -> RegionsStateMessage? {
    guard let deadline = nextDeadline, deadline <= time else { return nil }
    return pending(monitor, source: source, at: time, utc: utc)
  }

  /// Returns the pending message, due or not.
  mutating func pending(
    _ monitor: RegionMonitor, source: RegionsStateMessage.Source?, at time: Timestamp, utc: UTCTime
  ) -> RegionsStateMessage? {
    guard newsSince != nil else { return nil }
    newsSince = nil
    defer { isRequested = false }
    let isEmpty = monitor.count == 0
    // If no regions are or were monitored, there is nothing to correct.
    if isEmpty, told == nil, !monitor.hasOtherStates { return nil }
    let message = RegionsStateMessage(
      time: utc, source: isEmpty ? nil : source, count: monitor.count,
      regions: monitor.statuses(limit: RegionsStateMessage.limit))
    if !isRequested, let told, told == (message.source, message.count, message.regions) { return nil }
    told = (message.source, message.count, message.regions)
    // Undecided regions must not delay the message with the first decision.
    lastPublished = message.regions.allSatisfy { $0.state == .unknown } ? nil : time
    return message
  }
}
