internal import Fleet
internal import JSON
package import Spatial

/// A snapshot of all alerts for display.
package struct AlertsView: Sendable {
  /// A number that increases with each change.
  package var revision: UInt64 = 0
  /// The epoch of the store, the prefix of alerts' identifiers.
  package var epoch = ""
  package var open: [Int64: Alert] = [:]
  /// The alerts that ended last, oldest first.
  package var ended: [Alert] = []
  package var silences: [Silence] = []
  package var counters = Counters()

  static let endedLimit = 1000

  package struct Counters: Hashable, Sendable {
    /// The number of alerts since the start, by rule.
    package var begun: [String: Int] = [:]
    package var receivers: [String: ReceiverCounters] = [:]
    /// The number of conditions and events that were ignored because a limit was reached.
    package var refused = 0
    /// The number of reports that were dropped because they arrived too fast.
    package var dropped = 0
    /// The reason why the store is not writable; nil if it is writable.
    package var storeProblem: String?
  }

  package struct ReceiverCounters: Hashable, Sendable {
    package var taken = 0
    package var failed = 0
    package var gone = 0
    package var waiting = 0
    /// The reason of the last failed attempt; nil if no attempt failed since the last accepted message.
    package var failure: String?
  }

  /// Returns the end of the silence that covers an alert; nil if there is none.
  package func silenced(_ alert: Alert, at time: UTCTime) -> UTCTime? {
    silences.filter { $0.until > time && $0.covers(rule: alert.rule, alert.vehicle) }.map(\.until).max()
  }

  /// Returns the open or recently ended alert with an identifier; nil if there is none.
  package func alert(_ identifier: String) -> Alert? {
    let parts = identifier.split(separator: "-")
    guard parts.count == 2, parts[0] == epoch, let number = Int64(parts[1]) else { return nil }
    return open[number] ?? ended.last { $0.number == number }
  }
}
