internal import Fleet

/// A connection that can fetch a portion of rows while another one is processed.
final class PostgreSQLLine {
  let connection: PostgreSQLConnection
  private(set) var isFetching = false

  init(_ connection: consuming PostgreSQLConnection) { self.connection = connection }

  /// Requests the next rows of a cursor; `take` waits for them.
  func fetch(_ count: Int, from cursor: String) throws(PostgreSQLError) {
    try connection.sendBinary("FETCH \(count) FROM \(cursor)")
    isFetching = true
  }

  /// Waits for the requested rows.
  ///
  /// - Parameter other: a connection whose rows are read in the meantime, so that its server need not wait.
  func take(beside other: PostgreSQLLine? = nil) throws(PostgreSQLError) -> BinaryRows {
    isFetching = false
    return try connection.receiveBinary { if let other, other.isFetching { other.connection.takeIn() } }
  }
}
