internal import Fleet

/// A connection over which one portion of rows may be on its way while others are worked on.
final class PostgreSQLLine {
  let connection: PostgreSQLConnection
  private(set) var isFetching = false

  init(_ connection: consuming PostgreSQLConnection) { self.connection = connection }

  /// Asks for the next rows of a cursor, which `take` waits for.
  func fetch(_ count: Int, from cursor: String) throws(PostgreSQLError) {
    try connection.sendBinary("FETCH \(count) FROM \(cursor)")
    isFetching = true
  }

  /// - Parameter other: whose rows come in meanwhile, so that its server does not have to wait.
  func take(beside other: PostgreSQLLine? = nil) throws(PostgreSQLError) -> BinaryRows {
    isFetching = false
    return try connection.receiveBinary { if let other, other.isFetching { other.connection.takeIn() } }
  }
}
