package import Platform

/// Detects that the broker often closes the connection without a reason. Many brokers do so if another client
/// connects with the same client identifier: mosquitto, and every broker under MQTT 3.1.1. Pure.
package struct SilentCloses: Sendable {
  private static let most = 3
  /// Seconds.
  private static let span = 60.0
  /// Minimum time in s between two reports.
  private static let interval = 3600.0
  private var times: [MonotonicTime] = []
  private var reportedAt: MonotonicTime?

  package init() {}

  /// Processes the end of a connection. Returns true at the third close without a reason within a minute, but at
  /// most once an hour.
  package mutating func isFrequent(_ end: MQTTDisconnection, at now: MonotonicTime) -> Bool {
    guard end.phase == .established, end.cause == .closedByPeer else { return false }
    times = times.filter { now.seconds(since: $0) < Self.span }.suffix(Self.most - 1) + [now]
    guard times.count >= Self.most else { return false }
    if let reportedAt, now.seconds(since: reportedAt) < Self.interval { return false }
    reportedAt = now
    return true
  }
}
