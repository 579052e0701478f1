internal import Telemetry

/// The index that leads to traces by their vehicle and moment. It is of these rare messages alone: where every message had an
/// entry, writing would cost a tenth more, and a location is found by its time already.
enum TraceIndex {
  /// The version of the schema that has it, the same in every database.
  static let version = 6

  static let name = "messages_traces"

  /// Of the messages that it knows.
  static let kinds = [MessageKind.trace.rawValue, TopicScheme.tracePiece]

  /// A database uses the index of a query that says this in these words, with no parameter in it.
  static let condition = "kind IN (\(kinds.map { "'\($0)'" }.joined(separator: ", ")))"

  /// The moment of a message: by the vehicle's clock where it says a time, and else by the recorder's.
  static let columns = "kind, vehicle, fleet, coalesce(time, received)"

  /// What a query for such messages has to say beside its own condition; nil for a query for others.
  static func hint(kinds asked: [String]) -> String? {
    !asked.isEmpty && asked.allSatisfy(kinds.contains) ? condition : nil
  }
}
