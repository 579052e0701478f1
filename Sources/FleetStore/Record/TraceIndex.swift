internal import Telemetry

/// The index of traces by vehicle and time. It contains only messages about traces, which are rare: an index
/// entry for every message would make recording a tenth slower. Locations have an index by time already.
package enum TraceIndex {
  /// The schema version that introduced the index; it is the same in SQLite and PostgreSQL.
  package static let version = 6

  package static let name = "messages_traces"

  /// The kinds of the indexed messages.
  package static let kinds = [MessageKind.trace.rawValue, TopicScheme.tracePiece]

  /// The condition of the partial index. The database only uses the index if a query contains this condition
  /// literally, without parameters.
  package static let condition = "kind IN (\(kinds.map { "'\($0)'" }.joined(separator: ", ")))"

  /// The indexed columns. The time is the vehicle's if the message has one, otherwise the time of reception.
  package static let columns = "kind, vehicle, fleet, coalesce(time, received)"

  /// Returns the condition to add to a query that only selects indexed kinds; nil if the query selects other
  /// kinds, too.
  package static func hint(kinds asked: [String]) -> String? {
    !asked.isEmpty && asked.allSatisfy(kinds.contains) ? condition : nil
  }
}
