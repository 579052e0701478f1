internal import Fleet
internal import FleetConsole
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
  private(set) var advice: String?
  /// Those that have their partitions, as far as this knows.
  private var days: Set<Day> = []
  private let partitioned: PartitionedDays
  /// On this connection.
  private var isLatestPrepared = false
  private let announce: (String) -> Void

  /// - Parameter announce: is given a sentence before what takes minutes.
  init(
    address: String, partitioned: PartitionedDays = PartitionedDays(),
    announce: @escaping (String) -> Void = { StandardError.say($0) }
  ) {
    self.announce = announce
    self.address = address
    self.partitioned = partitioned
    name = Self.withoutSecrets(address)
  }

  func open() throws(FleetError) {
    connection = nil
    days = []
    isLatestPrepared = false
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
    try updateLatest(of: messages)
    try updateJournal(JournalRow.rows(of: messages))
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
    try updateLatest(of: messages)
    try updateJournal(JournalRow.rows(of: messages))
    try connection?.run("COMMIT")
    return added
  }

  private func copyFixes(
    of messages: [RecordedMessage], where isWanted: (RecordedMessage) -> Bool
  ) throws(PostgreSQLError) {
    var rows = CopyRows()
    // Spans lend their elements, where loops copy them.
    let span = messages.span
    for index in span.indices where !span[index].fixes.isEmpty && isWanted(span[index]) {
      rows.append(fixesOf: span[index])
    }
    guard rows.count > 0 else { return }
    rows.finish()
    try connection?.copy(
      "COPY odograph.fixes (\(PostgreSQLSchema.fixColumns)) FROM STDIN (FORMAT binary)", rows.bytes)
  }

  private static func rows(of messages: [RecordedMessage]) -> [UInt8] {
    var rows = CopyRows(reserving: messages.count * 500)
    let span = messages.span
    for index in span.indices { rows.append(span[index]) }
    rows.finish()
    return rows.bytes
  }

  private func prepare() throws(PostgreSQLError) {
    guard try answer("SELECT pg_is_in_recovery()") != "t" else {
      throw PostgreSQLError(
        state: "odograph", message: "it is a replica, which only answers questions; name the primary server")
    }
    // Several recorders may start at once.
    try connection?.run("SELECT pg_advisory_lock(\(PostgreSQLSchema.lock))")
    var isRenewed = false
    var isIndexed = true
    if try answer("SELECT to_regclass('odograph.schema_version') IS NOT NULL") == "t" {
      let version = try answer("SELECT version FROM odograph.schema_version").flatMap(Int.init)
      guard let version, (1...PostgreSQLSchema.version).contains(version) else {
        throw PostgreSQLError(state: "odograph", message: RecordingAddress.newerVersion)
      }
      if version <= PostgreSQLMigration.otherTables { try migrate() }
      isRenewed = (PostgreSQLMigration.otherTables + 1..<JournalTable.version).contains(version)
      isIndexed = version <= PostgreSQLMigration.otherTables || version >= TraceIndex.version
      if isRenewed {
        try connection?.run("BEGIN; \(PostgreSQLViews.positions) \(PostgreSQLJournal.creation)")
        try fillJournal()
        try connection?.run("COMMIT")
      }
    } else {
      try connection?.run("BEGIN; CREATE SCHEMA IF NOT EXISTS odograph; \(PostgreSQLSchema.creation) COMMIT;")
    }
    try preparePostGIS(anew: isRenewed)
    // Below version 3 the tables were made anew, with today's version.
    if isRenewed { try connection?.run(PostgreSQLMigration.isRenewed) }
    try connection?.run("SELECT pg_advisory_unlock(\(PostgreSQLSchema.lock))")
    if !isIndexed { try makeTraceIndex() }
  }

  /// Makes the index of traces while others record. Where one that reads for long is in the way, the next start goes on.
  private func makeTraceIndex() throws(PostgreSQLError) {
    guard try answer("SELECT pg_try_advisory_lock(\(PostgreSQLTraceIndex.lock))") == "t" else { return }
    try connection?.run("SET lock_timeout = \(PostgreSQLTraceIndex.patience)")
    var attempts = PostgreSQLTraceIndex.attempts
    var isAnnounced = false
    while attempts > 0 {
      attempts -= 1
      do throws(PostgreSQLError) {
        try buildTraceIndex(isAnnounced: &isAnnounced)
        attempts = 0
      } catch {
        // Without the index all works; without a connection nothing does.
        guard !error.state.isEmpty else { throw error }
        // A recorder that made a partition of a new day was in the way, and has it now; or one that took away an old day.
        if error.isDeadlock || error.state == "42P01", attempts > 0 { continue }
        attempts = 0
        let cause =
          error.isLockTimeout || error.isDeadlock
          ? "others read from or write to it for long" : error.message
        announce(
          "\(name): \(cause); its index of traces is made at the next start, and until "
            + "then traces are looked for in all of a vehicle's messages")
      }
    }
    try connection?.run("RESET lock_timeout")
    try connection?.run("SELECT pg_advisory_unlock(\(PostgreSQLTraceIndex.lock))")
  }

  private func buildTraceIndex(isAnnounced: inout Bool) throws(PostgreSQLError) {
    try connection?.run(PostgreSQLTraceIndex.onParent)
    while let missing = try connection?.run(PostgreSQLTraceIndex.missing).values, !missing.isEmpty {
      if !isAnnounced {
        announce(
          "\(name): its index of traces is made beside those who record; this program begins when that is done")
        isAnnounced = true
      }
      for row in missing {
        guard let partition = row[0] else { continue }
        if let leftOver = row[1] { try connection?.run(PostgreSQLTraceIndex.removal(of: leftOver)) }
        try connection?.run(PostgreSQLTraceIndex.build(on: partition))
        try connection?.run(PostgreSQLTraceIndex.attach(partition))
      }
    }
    try connection?.run(PostgreSQLMigration.isIndexed)
  }

  private func migrate() throws(PostgreSQLError) {
    announce(
      "\(name) was made by an older odograph; its tables are copied into the new form, which takes minutes where "
        + "there are millions of rows")
    try connection?.run("BEGIN; \(PostgreSQLMigration.putAside) \(PostgreSQLSchema.creation)")
    let rows = try connection?.run(
      PostgreSQLMigration.days(before: partitioned.before, after: partitioned.after)
    ).values
    for day in (rows ?? []).compactMap({ $0.first ?? nil }).compactMap(Day.init(text:)) {
      for table in PostgreSQLSchema.partitionedTables {
        try connection?.run(PostgreSQLSchema.partition(of: table, day: day))
      }
    }
    try connection?.run(PostgreSQLMigration.move(ahead: partitioned.after))
    try fillJournal()
    try connection?.run("COMMIT")
  }

  /// Goes by PostGIS where the database has it now, and does without where it has not any more.
  /// - Parameter isRenewed: whether its views are those of a former version.
  private func preparePostGIS(anew isRenewed: Bool) throws(PostgreSQLError) {
    let schema = try answer(
      """
      SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
        WHERE extname = 'postgis'
      """)
    let isUsed = try answer(PostgreSQLViews.usesPostGIS) == "t"
    if let schema, !isUsed || isRenewed {
      try connection?.run("BEGIN; \(PostgreSQLViews.postGIS(in: schema)) COMMIT")
    } else if schema == nil, isUsed {
      try connection?.run(PostgreSQLViews.nearWithoutPostGIS)
    }
    advice =
      schema != nil
      ? nil
      : "\(name) has no PostGIS: odograph.near reads whole days, and there is no view odograph.points; "
        + "CREATE EXTENSION postgis, and a new start, makes both"
  }

  /// The first column of the first row.
  private func answer(_ sql: String, _ parameters: [String] = []) throws(PostgreSQLError) -> String? {
    try connection?.run(sql, parameters).values.first?.first ?? nil
  }

  /// Makes the partitions that are not there yet of the days that are near now.
  private func makePartitions(for messages: [RecordedMessage]) throws(PostgreSQLError) {
    var wanted: Set<Day> = []
    // Nearly all are of the day of the one before.
    var last: Day?
    func observe(_ time: UTCTime, receivedAt received: UTCTime) {
      let day = Day(time)
      guard day != last else { return }
      last = day
      if !days.contains(day), partitioned.contains(day, receivedOn: Day(received)) { wanted.insert(day) }
    }
    let span = messages.span
    for index in span.indices {
      if let time = span[index].fields.time { observe(time, receivedAt: span[index].received) }
      guard !span[index].fixes.isEmpty else { continue }
      for fix in span[index].fixes { observe(fix.time, receivedAt: span[index].received) }
    }
    for day in wanted.sorted() {
      try connection?.run("BEGIN; SELECT pg_advisory_xact_lock(\(PostgreSQLSchema.lock))")
      for table in PostgreSQLSchema.partitionedTables {
        let name = PostgreSQLSchema.partitionName(of: table, day: day)
        let exists = try answer("SELECT to_regclass($1) IS NOT NULL", ["odograph." + name])
        if exists != "t" { try connection?.run(PostgreSQLSchema.partition(of: table, day: day)) }
      }
      try connection?.run("COMMIT")
      if days.count > 10_000 { days.removeAll() }
      days.insert(day)
    }
  }

  /// Drops partitions, each by itself, and waits for nobody: a long export keeps a partition until the next time.
  func expire(before day: Day, today: Day) throws(FleetError) -> StoreExpiry {
    if connection == nil { try open() }
    var expiry = StoreExpiry()
    do throws(PostgreSQLError) {
      let names = try connection?.run(PostgreSQLSchema.expired(before: day)).values.compactMap {
        $0.first ?? nil
      }
      for name in names ?? [] {
        guard try attempt("DROP TABLE odograph.\(name)") else { break }
        expiry.partitions += 1
      }
      days = days.filter { $0 >= day }
      let old = PostgreSQLSchema.expiry(before: day, believed: PartitionedDays().before)
      for sql in old + PostgreSQLJournal.expiry(before: day, today: today) {
        expiry.rows += try connection?.run(sql).changed ?? 0
      }
      return expiry
    } catch {
      connection = nil
      throw failure("delete from", error)
    }
  }

  /// Runs a command that needs a table for itself. Returns false when others have it.
  private func attempt(_ sql: String) throws(PostgreSQLError) -> Bool {
    do throws(PostgreSQLError) {
      try connection?.run("BEGIN; SET LOCAL lock_timeout = '2s'; \(sql); COMMIT")
      return true
    } catch {
      guard error.isLockTimeout else { throw error }
      try connection?.run("ROLLBACK")
      return false
    }
  }

  private func updateLatest(of messages: [RecordedMessage]) throws(PostgreSQLError) {
    let latest = LatestPositions(messages)
    guard !latest.positions.isEmpty else { return }
    if !isLatestPrepared { try connection?.run(PostgreSQLSchema.prepareLatest) }
    isLatestPrepared = true
    try connection?.run(prepared: PostgreSQLSchema.updateLatest, latest.arrays)
  }

  /// Puts rows in, unless what is there of them holds. Within a transaction.
  private func updateJournal(_ rows: [JournalRow]) throws(PostgreSQLError) {
    guard !rows.isEmpty else { return }
    for table in JournalTable.all {
      guard let copy = PostgreSQLJournal.copy(of: rows, into: table) else { continue }
      try connection?.run(table.staging)
      try connection?.copy(table.copyToStaging, copy)
      try connection?.run(table.fromStaging)
      try connection?.run(table.emptyStaging)
    }
  }

  /// From messages that were recorded before there were its tables. Within a transaction.
  private func fillJournal() throws(PostgreSQLError) {
    if try answer(PostgreSQLJournal.isLarge) == "t" {
      announce(
        "\(name) was made by an older odograph; trips and driving events are looked for in it, which takes minutes where "
          + "there are millions of rows")
    }
    try connection?.run(PostgreSQLJournal.recorded)
    while let rows = try connection?.run(PostgreSQLJournal.nextRecorded).values, !rows.isEmpty {
      try updateJournal(rows.compactMap(PostgreSQLJournal.row))
    }
    try connection?.run(PostgreSQLJournal.closeRecorded)
  }

  private func failure(_ operation: String, _ error: PostgreSQLError) -> FleetError {
    let remedy = error.isDiskFull ? "; make room on the server's disk, or keep less with --keep" : ""
    return FleetError(operation: operation, object: name, cause: error.message + remedy, exit: .outputFailed)
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

extension CopyRows {
  /// In the order of `PostgreSQLSchema.messageColumns`.
  mutating func append(_ message: RecordedMessage) {
    beginRow(columns: 20)
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
      beginRow(columns: 12)
      columns(of: fix, at: place, in: message)
    }
  }
}
