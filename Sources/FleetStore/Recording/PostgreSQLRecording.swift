internal import Fleet
internal import MQTT
internal import Spatial

/// A recording in PostgreSQL, read through a cursor: the server keeps what this program has not asked for yet.
final class PostgreSQLRecording: RecordingTables {
  let name: String
  private let address: String
  private let goesOn: () -> Bool
  private var connection: PostgreSQLConnection?
  private(set) var version = PostgreSQLSchema.version
  /// What was fetched and not yet handed over.
  private var portion: [TrackSample] = []

  /// Whether the last failure was that a replica had to give up what was read.
  private var hasConflict = false

  /// Rows that are fetched at once.
  private static let portion = 2000
  /// Of a question that a replica interrupts before its first row.
  private static let mostAttempts = 4

  init(address: String, goesOn: @escaping () -> Bool = { true }) {
    self.address = address
    self.goesOn = goesOn
    name = PostgreSQLStore.withoutSecrets(address)
  }

  func open() throws(FleetError) {
    do throws(PostgreSQLError) {
      connection = try PostgreSQLConnection(address, goesOn: goesOn)
      let exists = try connection?.run("SELECT to_regclass('odograph.schema_version') IS NOT NULL").values
        .first?.first
      guard exists == "t" else {
        throw PostgreSQLError(
          state: "odograph",
          message: "there is no recording; odograph record makes one, in the schema odograph")
      }
      let version = try connection?.run("SELECT version FROM odograph.schema_version").values.first?.first
      guard let version = version?.flatMap(Int.init), version <= PostgreSQLSchema.version else {
        throw PostgreSQLError(state: "odograph", message: RecordingAddress.newerVersion)
      }
      self.version = version
      // Compiling a query takes longer than those that are asked here.
      try connection?.run("SET jit = off; SET cursor_tuple_fraction = 1; \(Self.memory)")
    } catch {
      connection = nil
      throw failure(error)
    }
  }

  static let dialect = RecordingDialect(
    schema: "odograph.", milliseconds: { "floor(extract(epoch FROM \($0)) * 1000)::bigint" },
    payload: "payload, encode(payload_binary, 'hex')",
    // Within one moment of the recorder by number, and without one by time: the database keeps no other order.
    messageOrder: "received, vehicle, fleet, epoch, seq, time, topic",
    earliest: "'-infinity'::timestamptz",
    parameter: { number, value in
      if case .time = value { "$\(number)::timestamptz" } else { "$\(number)" }
    })

  /// The texts of a row's columns.
  struct Row: RecordingRow {
    fileprivate var columns: [String?]

    func integer(_ column: Int) -> Int64? { columns[column].flatMap(Int64.init) }
    func double(_ column: Int) -> Double? { columns[column].flatMap(Double.init) }
    func text(_ column: Int) -> String? { columns[column] }
    func payload(_ column: Int) -> [UInt8] {
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
    if connection == nil { try open() }
    do throws(PostgreSQLError) { return try connection?.run(sql, values).values ?? [] } catch {
      throw failure(error)
    }
  }

  func read(
    _ sql: String, _ values: [RecordingSelection.Condition.Value], _ body: (Row) throws(FleetError) -> Bool
  ) throws(FleetError) {
    try asking { answer throws(FleetError) in
      try readOnce(sql, values) { row throws(FleetError) in
        answer = true
        return try body(row)
      }
    }
  }

  /// Asks again where a replica has taken away what was read, as long as nothing was handed over.
  /// - Parameter question: sets its argument once it hands something over.
  private func asking(_ question: (inout Bool) throws(FleetError) -> Void) throws(FleetError) {
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

  /// Runs commands without rows.
  private func set(_ commands: String) throws(FleetError) {
    do throws(PostgreSQLError) { try connection?.run(commands) } catch { throw failure(error) }
  }

  /// Begins a transaction with a cursor for a query.
  /// - Parameter plan: settings for it.
  private func declare(
    _ sql: String, _ values: [RecordingSelection.Condition.Value], plan: String? = nil
  ) throws(FleetError) {
    let values = values.map { value in
      switch value {
      case .text(let text): text
      case .time(let time): time.microsecondText
      case .number(let number): String(number)
      }
    }
    if connection == nil { try open() }
    _ = try query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", [])
    if let plan { try set(plan) }
    _ = try query("DECLARE recording NO SCROLL CURSOR FOR " + sql, values)
  }

  /// Of what a query sorts, where the server gives less: a day of a vehicle fits in.
  private static let memory =
    "SELECT set_config('work_mem', '32MB', false) WHERE pg_size_bytes(current_setting('work_mem')) < 32 << 20"

  /// Within a transaction, for `trackSQL`: one vehicle's rows by the index with its time, in the order in which they came and
  /// lie on the disk. The database takes them for scattered, and would collect their pages first.
  static let trackPlan =
    "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off"

  /// Rows that are fetched at once where they are small.
  private static let smallPortion = 10_000

  /// In binary form: a day has so many numbers that their texts would take longer than all else.
  func readTrack(
    _ span: TrackSpan, _ body: (TrackSample) throws(FleetError) -> Bool
  ) throws(FleetError) {
    try asking { answer throws(FleetError) in
      portion.removeAll(keepingCapacity: true)
      try readTrackOnce(span) { sample throws(FleetError) in
        answer = true
        return try body(sample)
      }
    }
  }

  private func readTrackOnce(
    _ span: TrackSpan, _ body: (TrackSample) throws(FleetError) -> Bool
  ) throws(FleetError) {
    let (sql, values) = trackSQL(span) { $0 }
    try declare(sql, values, plan: Self.trackPlan)
    var isOver = false
    while !isOver {
      do throws(PostgreSQLError) {
        let fetch = "FETCH \(Self.smallPortion) FROM recording"
        guard let rows = try connection?.runBinary(fetch) else { return }
        isOver = rows.count < Self.smallPortion
        for row in 0..<rows.count {
          let sample = TrackSample(
            time: rows.milliseconds(row, 0), latitude: rows.double(row, 1), longitude: rows.double(row, 2),
            altitude: rows.double(row, 3), accuracy: rows.double(row, 4), speed: rows.double(row, 5),
            course: rows.double(row, 6), source: rows.integer(row, 7) ?? 0)
          guard let sample else { continue }
          portion.append(sample)
        }
      } catch { throw failure(error) }
      for sample in portion {
        guard try body(sample) else {
          isOver = true
          break
        }
      }
      portion.removeAll(keepingCapacity: true)
    }
    _ = try query("ROLLBACK", [])
  }

  private func failure(_ error: PostgreSQLError) -> FleetError {
    hasConflict = error.isRecoveryConflict
    // The next question is asked over a connection of its own: this one may be over.
    if hasConflict || error.state.isEmpty { connection = nil }
    let remedy =
      hasConflict
      ? "; it is a replica that gave up what was read for what its primary has changed: ask again, or set a longer "
        + "max_standby_streaming_delay there, or ask a second replica; hot_standby_feedback = on helps against rows that are "
        + "cleaned up, not against days that are dropped" : ""
    return .usage("read", name, error.message + remedy)
  }
}

extension UTCTime {
  /// As PostgreSQL reads it. Its times are microseconds; recorded ones are whole milliseconds, so that rounding the limit
  /// up changes nothing.
  fileprivate var microsecondText: String {
    UTCTime(milliseconds: ceiledMilliseconds).rfc3339
  }
}
