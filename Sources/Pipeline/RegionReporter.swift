internal import Positioning
internal import Spatial
internal import Telemetry

/// Decides when `regions/state` is due: soon after a change of what is watched or of a state, with all that changed meanwhile,
/// and once after the start, when what the broker has kept may be of another time.
struct RegionReporter: Sendable {
  /// Changes are collected this long (s), so that all that one fix decides makes one message.
  private static let settlingTime = 0.5
  /// Seconds between two messages at least. Each crossing is told at once by its own message, `region`.
  private static let interval = 10.0

  private var seen: Int?
  private var newsSince: Timestamp?
  private var lastPublished: Timestamp?
  private var told: (source: RegionsStateMessage.Source?, count: Int, regions: [RegionStatus])?
  /// Whether the next message is due even if it says what the last one did.
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

  /// Makes the next message due at once, even if it says what the last one did.
  mutating func requestNow(at time: Timestamp) {
    (newsSince, lastPublished, isRequested) = (time.advanced(bySeconds: -Self.settlingTime), nil, true)
  }

  /// The message that is due; nil when none is, or it would say nothing new.
  mutating func due(
    _ monitor: RegionMonitor, source: RegionsStateMessage.Source?, at time: Timestamp, utc: UTCTime
  ) -> RegionsStateMessage? {
    guard let deadline = nextDeadline, deadline <= time else { return nil }
    return pending(monitor, source: source, at: time, utc: utc)
  }

  /// What is to be told, due or not.
  mutating func pending(
    _ monitor: RegionMonitor, source: RegionsStateMessage.Source?, at time: Timestamp, utc: UTCTime
  ) -> RegionsStateMessage? {
    guard newsSince != nil else { return nil }
    newsSince = nil
    defer { isRequested = false }
    let isEmpty = monitor.count == 0
    // Where nothing is watched and nothing was, there is nothing to correct.
    if isEmpty, told == nil, !monitor.remembersOthers { return nil }
    let message = RegionsStateMessage(
      time: utc, source: isEmpty ? nil : source, count: monitor.count,
      regions: monitor.statuses(limit: RegionsStateMessage.limit))
    if !isRequested, let told, told == (message.source, message.count, message.regions) { return nil }
    told = (message.source, message.count, message.regions)
    // What nothing has decided yet is no reason to wait with the first decision.
    lastPublished = message.regions.allSatisfy { $0.state == .unknown } ? nil : time
    return message
  }
}
