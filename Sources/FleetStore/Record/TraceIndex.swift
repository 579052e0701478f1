internal import Telemetry

/// The index of traces by vehicle and time. It contains only these rare messages: an entry for every message
/// would make writing a tenth slower, and locations are already found by time.
enum TraceIndex {
  /// The schema version that introduced it, the same in every database.
  static let version = 6

  static let name = "messages_traces"

  /// The kinds of the indexed messages.
  static let kinds = [MessageKind.trace.rawValue, TopicScheme.tracePiece]

  /// The condition that a query must contain literally, without parameters, so that the database uses the
  /// index.
  static let condition = "kind IN (\(kinds.map { "'\($0)'" }.joined(separator: ", ")))"

  /// The indexed columns; the time is the vehicle's if available, otherwise the recorder's.
  static let columns = "kind, vehicle, fleet, coalesce(time, received)"

  /// Returns the condition to add to a query for such messages; nil for a query for other kinds.
  static func hint(kinds asked: [String]) -> String? {
    !asked.isEmpty && asked.allSatisfy(kinds.contains) ? condition : nil
  }
}
