internal import Glibc
internal import JSON
internal import Platform
internal import Spatial
internal import StoreAndForward
internal import Telemetry

/// Implements `odographd dead-letters`: lists the messages that the broker will never accept, and deletes or
/// retries them.
package struct DeadLetterListing {
  private let settings: AgentConfiguration.Store

  package init(_ configuration: AgentConfiguration) {
    settings = configuration.store
  }

  private var path: String { settings.path }

  /// Returns one line per message, newest first, at most `limit`. An agent may be running.
  ///
  /// - Throws: an error naming the store, if it cannot be read.
  package func lines(limit: Int, asJSON: Bool) throws -> [String] {
    try checkExistence()
    let letters = try DeadLetter.read(path: path, limit: limit)
    return letters.map { asJSON ? Self.json($0) : Self.text($0) }
  }

  /// Deletes all dead letters. Returns their number.
  ///
  /// - Throws: an error naming the store, if it cannot be opened, for example because an agent is running.
  package func remove() throws -> Int { try withOutbox { $0.clearDeadLetters() } }

  /// Schedules all dead letters for the next run of the agent. Returns their number.
  ///
  /// - Throws: an error naming the store, if it cannot be opened, for example because an agent is running.
  package func retry() throws -> Int { try withOutbox { $0.retryDeadLetters() } }

  private func withOutbox(_ body: (Outbox) -> Int) throws -> Int {
    try checkExistence()
    let outbox = try Outbox(path: path, configuration: settings.outbox)
    defer { outbox.close() }
    if case .memory(let cause) = outbox.status.mode {
      throw OperationError("outbox", operation: "change", object: path, cause: cause)
    }
    return body(outbox)
  }

  private func checkExistence() throws(OperationError) {
    guard access(path, F_OK) != 0 else { return }
    throw OperationError(
      "outbox", operation: "read", object: path, cause: "no store; check store.path, or run the agent first")
  }

  private static func text(_ letter: DeadLetter) -> String {
    let record = letter.record
    return """
      \(letter.refusedAt.rfc3339) \(record.lane) \(record.topic) seq \(record.seq) \
      \(record.payload.count) bytes: \(letter.reason)
      """
  }

  private static func json(_ letter: DeadLetter) -> String {
    let record = letter.record
    let bytes = JSONWriter.object { json in
      json.field("refused", letter.refusedAt.rfc3339)
      json.field("reason", letter.reason)
      json.field("lane", "\(record.lane)")
      json.field("seq", record.seq)
      json.field("created", record.createdAt.rfc3339)
      json.field("topic", record.topic)
      json.field("qos", record.qos)
      json.field("retain", record.retain)
      if (try? JSONValue(parsing: record.payload)) != nil {
        json.key("payload")
        json.raw(record.payload)
      } else {
        json.field("text", String(decoding: record.payload, as: UTF8.self))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
