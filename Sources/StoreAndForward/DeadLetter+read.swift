extension DeadLetter {
  /// Reads the newest dead letters of a store, newest first, also while an agent has it open.
  /// - Parameter path: of the store.
  /// - Throws: `OutboxError` when there is no store that can be read.
  public static func read(path: String, limit: Int) throws(OutboxError) -> [DeadLetter] {
    do throws(SQLiteFailure) {
      let database = try Database(path: path, mode: .existing)
      try database.execute("PRAGMA query_only = ON")
      return try read(database, limit: limit)
    } catch {
      throw OutboxError(operation: "read", object: path, cause: "\(error)")
    }
  }

  static func read(_ database: borrowing Database, limit: Int) throws(SQLiteFailure) -> [DeadLetter] {
    let statement = try database.prepare(
      "SELECT \(Schema.columns), lane, reason, refused FROM dead ORDER BY seq DESC LIMIT ?1")
    statement.bind(1, Int64(limit))
    var letters: [DeadLetter] = []
    while try statement.step() {
      let lane = Lane(rawValue: Int(statement.integer(10))) ?? .other
      letters.append(
        DeadLetter(
          record: LaneTable.record(statement, lane), reason: statement.text(11) ?? "",
          refusedAt: statement.integer(12)))
    }
    return letters
  }
}
