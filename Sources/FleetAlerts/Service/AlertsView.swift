internal import Fleet
internal import JSON
package import Spatial

/// What is known of alerts now, for whoever shows them.
package struct AlertsView: Sendable {
  /// Rises with each change.
  package var revision: UInt64 = 0
  /// Names alerts for the outside.
  package var epoch = ""
  package var open: [Int64: Alert] = [:]
  /// The last ones that have ended, oldest first.
  package var ended: [Alert] = []
  package var silences: [Silence] = []
  package var counters = Counters()

  static let endedLimit = 1000

  package struct Counters: Hashable, Sendable {
    /// By rule, since the start.
    package var begun: [String: Int] = [:]
    package var receivers: [String: ReceiverCounters] = [:]
    /// What was not watched, because there was no room, and messages of vehicles that were not looked at.
    package var refused = 0
    package var dropped = 0
    /// Why nothing can be written; nil while it can.
    package var storeProblem: String?
  }

  package struct ReceiverCounters: Hashable, Sendable {
    package var taken = 0
    package var failed = 0
    package var gone = 0
    package var waiting = 0
    /// Why the last one was not taken; nil once one is.
    package var failure: String?
  }

  /// Until when nobody is told of an alert; nil where one may be.
  package func silenced(_ alert: Alert, at time: UTCTime) -> UTCTime? {
    silences.filter { $0.until > time && $0.covers(rule: alert.rule, alert.vehicle) }.map(\.until).max()
  }

  /// The alert that the outside calls so; nil for another name.
  package func alert(_ identifier: String) -> Alert? {
    let parts = identifier.split(separator: "-")
    guard parts.count == 2, parts[0] == epoch, let number = Int64(parts[1]) else { return nil }
    return open[number] ?? ended.last { $0.number == number }
  }
}
