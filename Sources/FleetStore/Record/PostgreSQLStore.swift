internal import Fleet
internal import MQTT
internal import Spatial
internal import Telemetry

/// A recording in PostgreSQL.
///
/// A batch goes in by one COPY, which fails as a whole when one of its messages is there already; only then it goes
/// through a temporary table and `INSERT … ON CONFLICT DO NOTHING`, which costs more.
final class PostgreSQLStore: MessageStore {
  let name: String
  private let address: String
  private var connection: PostgreSQLConnection?
  private var isHypertable = false
  private var days: Set<Day> = []

  /// Days from now within which a day gets a partition of its own, before and after.
  private static let partitionedDays = (before: 400, after: 2)

  init(address: String) {
    self.address = address
    name = Self.withoutSecrets(address)
  }

  func open() throws(FleetError) {
    connection = nil
    days = []
    do throws(PostgreSQLError) {
      connection = try PostgreSQLConnection(address)
      try prepare()
    } catch {
      connection = nil
      throw failure("open", error)
    }
  }

  func store(_ messages: [RecordedMessage]) throws(FleetError) -> Int {
    if connection == nil { try open() }
    guard !messages.isEmpty else { return 0 }
    do throws(PostgreSQLError) {
      try makePartitions(for: messages)
      do throws(PostgreSQLError) {
        try copy(messages)
        return messages.count
      } catch {
        guard error.isUniqueViolation else { throw error }
        try connection?.run("ROLLBACK")
        return try merge(messages)
      }
    } catch {
      connection = nil
      throw failure("write to", error)
    }
  }

  func close() { connection = nil }

  private func copy(_ messages: [RecordedMessage]) throws(PostgreSQLError) {
    try connection?.run("BEGIN")
    try connection?.copy(
      "COPY odograph.messages (\(PostgreSQLSchema.messageColumns)) FROM STDIN (FORMAT binary)",
      Self.rows(of: messages))
    try copyFixes(of: messages) { _ in true }
    try connection?.run("COMMIT")
  }

  private func merge(_ messages: [RecordedMessage]) throws(PostgreSQLError) -> Int {
    try connection?.run(PostgreSQLSchema.staging)
    try connection?.run("BEGIN")
    try connection?.copy(
      "COPY staged_messages (\(PostgreSQLSchema.messageColumns)) FROM STDIN (FORMAT binary)",
      Self.rows(of: messages))
    let rows = try connection?.run(PostgreSQLSchema.fromStaging).values ?? []
    var added = 0
    var tracks: Set<[String]> = []
    for row in rows {
      if let count = row[0].flatMap(Int.init) { added = count } else { tracks.insert(row.compactMap { $0 }) }
    }
    try copyFixes(of: messages) { message in
      // A track that the batch has twice was added once.
      let number = message.fields.seq ?? message.hash ?? 0
      return tracks.remove([message.topic, message.fields.epoch ?? "", "\(number)"]) != nil
    }
    try connection?.run("COMMIT")
    return added
  }

  private func copyFixes(
    of messages: [RecordedMessage], where isWanted: (RecordedMessage) -> Bool
  ) throws(PostgreSQLError) {
    var rows = CopyRows()
    for message in messages where !message.fixes.isEmpty && isWanted(message) {
      rows.append(fixesOf: message)
    }
    guard rows.count > 0 else { return }
    rows.finish()
    try connection?.copy(
      "COPY odograph.fixes (\(PostgreSQLSchema.fixColumns)) FROM STDIN (FORMAT binary)", rows.bytes)
  }

  private static func rows(of messages: [RecordedMessage]) -> [UInt8] {
    var rows = CopyRows(reserving: messages.count * 500)
    for message in messages { rows.append(message) }
    rows.finish()
    return rows.bytes
  }

  private func prepare() throws(PostgreSQLError) {
    let present =
      try connection?.run(
        "SELECT extname FROM pg_extension WHERE extname IN ('postgis', 'timescaledb')"
      ).values.compactMap { $0.first ?? nil } ?? []
    // Several recorders may start at once.
    try connection?.run("SELECT pg_advisory_lock(\(PostgreSQLSchema.lock))")
    let exists = try connection?.run("SELECT to_regclass('odograph.schema_version') IS NOT NULL").values
      .first?.first
    if exists == "t" {
      let row = try connection?.run("SELECT version, hypertables FROM odograph.schema_version").values.first
      guard let version = row?.first?.flatMap(Int.init), (1...PostgreSQLSchema.version).contains(version)
      else {
        throw PostgreSQLError(state: "odograph", message: RecordingAddress.newerVersion)
      }
      isHypertable = row?.last == "t"
      for former in version..<PostgreSQLSchema.version {
        try connection?.run("BEGIN; \(PostgreSQLSchema.upgrade(from: former)) COMMIT;")
      }
    } else {
      isHypertable = present.contains("timescaledb")
      try connection?.run(
        """
        BEGIN;
        CREATE SCHEMA IF NOT EXISTS odograph;
        CREATE TABLE odograph.schema_version (version integer NOT NULL, hypertables boolean NOT NULL);
        INSERT INTO odograph.schema_version VALUES (\(PostgreSQLSchema.version), \(isHypertable));
        \(PostgreSQLSchema.creation(isHypertable: isHypertable))
        COMMIT;
        """)
    }
    if present.contains("postgis") { try connection?.run(PostgreSQLSchema.geography) }
    try connection?.run("SELECT pg_advisory_unlock(\(PostgreSQLSchema.lock))")
  }

  /// Makes the partitions that are not there yet of the days that are near now.
  private func makePartitions(for messages: [RecordedMessage]) throws(PostgreSQLError) {
    guard !isHypertable else { return }
    var wanted: Set<Day> = []
    for message in messages {
      let today = Day(message.received).number
      let range = today - Self.partitionedDays.before...today + Self.partitionedDays.after
      let day = message.day
      if range.contains(day.number), !days.contains(day) { wanted.insert(day) }
      for fix in message.fixes {
        let day = Day(fix.time)
        if range.contains(day.number), !days.contains(day) { wanted.insert(day) }
      }
    }
    for day in wanted.sorted() {
      try connection?.run("BEGIN; SELECT pg_advisory_xact_lock(\(PostgreSQLSchema.lock))")
      for table in ["messages", "fixes"] {
        let name = "odograph.\(table)_\(day.text.filter { $0 != "-" })"
        let exists = try connection?.run("SELECT to_regclass($1) IS NOT NULL", [name]).values.first?.first
        if exists != "t" { try connection?.run(PostgreSQLSchema.partition(of: table, day: day)) }
      }
      try connection?.run("COMMIT")
      if days.count > 10_000 { days.removeAll() }
      days.insert(day)
    }
  }

  private func failure(_ operation: String, _ error: PostgreSQLError) -> FleetError {
    FleetError(operation: operation, object: name, cause: error.message, exit: .outputFailed)
  }

  /// The address without password and parameters.
  static func withoutSecrets(_ address: String) -> String {
    var text = String(address.prefix { $0 != "?" })
    guard let scheme = text.firstRange(of: "://"),
      let at = text[scheme.upperBound...].lastIndex(of: "@"),
      let colon = text[scheme.upperBound..<at].firstIndex(of: ":")
    else { return text }
    text.removeSubrange(colon..<at)
    return text
  }
}

extension RecordedMessage {
  /// The day it is filed under, which depends on nothing but the message.
  var day: Day { fields.time.map { Day($0) } ?? .none }
}

extension CopyRows {
  /// In the order of `PostgreSQLSchema.messageColumns`.
  mutating func append(_ message: RecordedMessage) {
    beginRow(columns: 21)
    date(message.day)
    columns(of: message)
    if message.isText {
      raw(message.payload)
      null()
    } else {
      null()
      raw(message.payload)
    }
  }

  /// In the order of `PostgreSQLSchema.fixColumns`.
  mutating func append(fixesOf message: RecordedMessage) {
    for (place, fix) in message.fixes.enumerated() {
      beginRow(columns: 10)
      date(Day(fix.time))
      columns(of: fix, at: place, in: message)
    }
  }
}
