package import Fleet
internal import MQTT
internal import Spatial

/// A recording in PostgreSQL that is read through a cursor, so that the server holds the rows that were not
/// fetched yet.
package final class PostgreSQLRecording: RecordingTables {
  package let name: String
  package let address: String
  private let shouldContinue: () -> Bool
  package var line: PostgreSQLLine?
  /// The second connection for reading tracks; nil if it is not open.
  package var secondLine: PostgreSQLLine?
  /// True if the server rejected a second connection, or that connection reached a different server.
  var isAlone = false
  package private(set) var version = PostgreSQLSchema.version
  /// The fetched samples of a track that were not passed to the caller yet.
  package var samples: [TrackSample] = []

  /// True if the last failure was a recovery conflict: the replica cancelled the query because of changes on
  /// the primary.
  private var hasConflict = false

  /// The number of rows fetched at once.
  private static let portion = 2000
  /// The maximum number of attempts for a query that a replica cancels before it returns a row.
  private static let mostAttempts = 4

  package init(address: String, shouldContinue: @escaping () -> Bool = { true }) {
    self.address = address
    self.shouldContinue = shouldContinue
    name = PostgreSQLStore.withoutSecrets(address)
  }

  package func open() throws(FleetError) {
    do throws(PostgreSQLError) {
      let line = try connected()
      let exists = try line.connection.run("SELECT to_regclass('odograph.schema_version') IS NOT NULL").values
        .first?.first
      guard exists == "t" else {
        throw PostgreSQLError(
          state: "odograph",
          message: "no recording; odograph record creates one, in the schema odograph")
      }
      let version = try line.connection.run("SELECT version FROM odograph.schema_version").values.first?.first
      guard let version = version?.flatMap(Int.init), version <= PostgreSQLSchema.version else {
        throw PostgreSQLError(state: "odograph", message: RecordingAddress.newerVersion)
      }
      self.version = version
      self.line = line
    } catch { throw failure(error) }
  }

  func connected() throws(PostgreSQLError) -> PostgreSQLLine {
    let connection = try PostgreSQLConnection(address, shouldContinue: shouldContinue)
    // JIT is off, because compiling these queries takes longer than running them.
    try connection.run("SET jit = off; SET cursor_tuple_fraction = 1; \(Self.memory)")
    return PostgreSQLLine(connection)
  }

  package static let dialect = RecordingDialect(
    schema: "odograph.", milliseconds: { "floor(extract(epoch FROM \($0)) * 1000)::bigint" },
    payload: "payload, encode(payload_binary, 'hex')",
    // Messages received at the same time are ordered by sequence number, or by time if they have none.
    // PostgreSQL defines no other order.
    messageOrder: "received, vehicle, fleet, epoch, seq, time, topic", positionOrder: "2, 1, 3, 10",
    earliest: "'-infinity'::timestamptz",
    parameter: { number, value in
      if case .time = value { "$\(number)::timestamptz" } else { "$\(number)" }
    })

  /// A row of a query, with its columns as text.
  package struct Row: RecordingRow {
    fileprivate var columns: [String?]

    package func integer(_ column: Int) -> Int64? { columns[column].flatMap(Int64.init) }
    package func double(_ column: Int) -> Double? { columns[column].flatMap(Double.init) }
    package func text(_ column: Int) -> String? { columns[column] }
    package func payload(_ column: Int) -> [UInt8] {
      columns[column].map { Array($0.utf8) } ?? Self.bytes(hexadecimal: columns[column + 1] ?? "")
    }

    private static func bytes(hexadecimal text: String) -> [UInt8] {
      var bytes: [UInt8] = []
      var high: UInt8?
      for character in text.utf8 {
        let digit = character <= 0x39 ? character &- 0x30 : character &- 0x57
        if let first = high {
          bytes.append(first << 4 | digit & 15)
          high = nil
        } else {
          high = digit & 15
        }
      }
      return bytes
    }
  }

  // MARK: Rows

  private func query(_ sql: String, _ values: [String]) throws(FleetError) -> [[String?]] {
    if line == nil { try open() }
    do throws(PostgreSQLError) { return try line?.connection.run(sql, values).values ?? [] } catch {
      throw failure(error)
    }
  }

  package func read(
    _ sql: String, _ values: [RecordingSelection.Condition.Value], _ body: (Row) throws(FleetError) -> Bool
  ) throws(FleetError) {
    try asking { answer throws(FleetError) in
      try readOnce(sql, values) { row throws(FleetError) in
        answer = true
        return try body(row)
      }
    }
  }

  /// Runs a query, and retries it after a recovery conflict of a replica, if it has not passed any row to the
  /// caller yet.
  /// - Parameter question: runs the query; it sets its argument to true when it passes a row.
  func asking(_ question: (inout Bool) throws(FleetError) -> Void) throws(FleetError) {
    var attempts = 1
    while true {
      var hasAnswer = false
      do throws(FleetError) { return try question(&hasAnswer) } catch {
        guard hasConflict, !hasAnswer, attempts < Self.mostAttempts else { throw error }
        attempts += 1
      }
    }
  }

  private func readOnce(
    _ sql: String, _ values: [RecordingSelection.Condition.Value], _ body: (Row) throws(FleetError) -> Bool
  ) throws(FleetError) {
    try declare(sql, values)
    var isOver = false
    while !isOver {
      let rows = try query("FETCH \(Self.portion) FROM recording", [])
      isOver = rows.count < Self.portion
      for row in rows {
        guard try body(Row(columns: row)) else {
          isOver = true
          break
        }
      }
    }
    _ = try query("ROLLBACK", [])
  }

  /// Starts a transaction, and declares a cursor for a query in it.
  private func declare(
    _ sql: String, _ values: [RecordingSelection.Condition.Value]
  ) throws(FleetError) {
    if line == nil { try open() }
    _ = try query(Self.begin, [])
    _ = try query("DECLARE recording NO SCROLL CURSOR FOR " + sql, Self.texts(values))
  }

  package static let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

  static func texts(_ values: [RecordingSelection.Condition.Value]) -> [String] {
    values.map { value in
      switch value {
      case .text(let text): text
      case .time(let time): time.microsecondText
      case .number(let number): String(number)
      }
    }
  }

  /// The SQL that raises the memory for sorting to 32 MB, enough for a vehicle's day. A higher setting of the
  /// server is unchanged.
  private static let memory =
    "SELECT set_config('work_mem', '32MB', false) WHERE pg_size_bytes(current_setting('work_mem')) < 32 << 20"

  package func failure(_ error: PostgreSQLError) -> FleetError {
    hasConflict = error.isRecoveryConflict
    // The connection can be broken, so the next query opens a new one.
    if hasConflict || error.state.isEmpty { line = nil }
    let remedy =
      hasConflict
      ? "; the replica cancelled the query because of changes on the primary: retry, or set a longer "
        + "max_standby_streaming_delay there, or ask a second replica; hot_standby_feedback = on prevents cancellation "
        + "by VACUUM, but not by dropped partitions" : error.readingRemedy.map { "; \($0)" } ?? ""
    return .usage("read", name, error.message + remedy)
  }
}

extension UTCTime {
  /// The time as PostgreSQL text, rounded up to a millisecond. The rounding does not change the result of a
  /// comparison, because recorded times are whole milliseconds.
  fileprivate var microsecondText: String {
    UTCTime(milliseconds: ceiledMilliseconds).rfc3339
  }
}
