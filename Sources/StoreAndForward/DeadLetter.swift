package import Platform
internal import SQLite
package import Spatial
internal import Telemetry

/// A record that the broker will never accept, with the reason.
package struct DeadLetter: Hashable, Sendable {
  package var record: OutboxRecord
  /// The reason as text, as passed to `reject`.
  package var reason: String
  /// Time of the rejection by the device's clock.
  package var refusedAt: UTCTime
}

extension DeadLetter {
  /// Reads the newest dead letters of a store, newest first, also while an agent has it open.
  /// - Parameter path: path of the store.
  /// - Throws: `OperationError` if there is no readable store.
  package static func read(path: String, limit: Int) throws(OperationError) -> [DeadLetter] {
    do throws(SQLiteError) {
      let database = try Database(path: path, access: .readWrite)
      try database.execute("PRAGMA query_only = ON")
      return try DeadLetterTable.read(database, limit: limit)
    } catch {
      throw OperationError("outbox", operation: "read", object: path, cause: "\(error)")
    }
  }
}

/// The dead letters of a store.
final class DeadLetterTable {
  private var insertion: Statement

  init(_ database: borrowing Database) throws(SQLiteError) {
    insertion = try database.prepare(
      """
      INSERT OR REPLACE INTO dead (\(Schema.columns), lane, reason, refused)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
      """)
  }

  func insert(_ letter: DeadLetter) throws(SQLiteError) {
    insertion.bind(letter.record)
    insertion.bind(11, Int64(letter.record.lane.rawValue))
    insertion.bind(12, letter.reason)
    insertion.bind(13, letter.refusedAt.nanoseconds)
    try insertion.run()
  }

  /// Reads the newest dead letters, newest first.
  static func read(_ database: borrowing Database, limit: Int) throws(SQLiteError) -> [DeadLetter] {
    var statement = try database.prepare(
      "SELECT \(Schema.columns), lane, reason, refused FROM dead ORDER BY seq DESC LIMIT ?1")
    statement.bind(1, Int64(limit))
    var letters: [DeadLetter] = []
    while try statement.step() {
      let lane = DeliveryLane(rawValue: Int(statement.int64(10))) ?? .other
      letters.append(
        DeadLetter(
          record: OutboxRecord(statement, lane), reason: statement.text(11) ?? "",
          refusedAt: UTCTime(nanoseconds: statement.int64(12))))
    }
    return letters
  }
}
