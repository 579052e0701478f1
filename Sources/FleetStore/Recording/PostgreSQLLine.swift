internal import Fleet

/// A connection that fetches rows from the server while the caller processes rows of another connection.
package final class PostgreSQLLine {
  package let connection: PostgreSQLConnection
  private(set) var isFetching = false

  package init(_ connection: consuming PostgreSQLConnection) { self.connection = connection }

  /// Requests the next rows of a cursor, without waiting; `take` returns them.
  /// - Parameter count: the maximum number of rows.
  func fetch(_ count: Int, from cursor: String) throws(PostgreSQLError) {
    try connection.sendBinary("FETCH \(count) FROM \(cursor)")
    isFetching = true
  }

  /// Waits for the requested rows.
  ///
  /// - Parameter other: another connection, whose arriving rows are read meanwhile, so that its server is not
  ///   blocked by a full socket buffer.
  func take(beside other: PostgreSQLLine? = nil) throws(PostgreSQLError) -> BinaryRows {
    isFetching = false
    return try connection.receiveBinary { if let other, other.isFetching { other.connection.takeIn() } }
  }
}
