package import Fleet
internal import MQTT
internal import Spatial
internal import Telemetry

/// A recording in PostgreSQL.
///
/// A batch is written by one COPY, which fails as a whole if one of its messages already exists. Only then is
/// the batch written again through a temporary table with `INSERT … ON CONFLICT DO NOTHING`, which is slower.
///
/// Before a batch's messages, its updates of `latest`, trips and driving events are written in a separate
/// transaction. That commit does not wait for the disk, so that another recorder of the same vehicle waits
/// only briefly. The updates reach the disk no later than the messages, because PostgreSQL's write-ahead log
/// is sequential. If the messages cannot be stored afterwards, they are not acknowledged, and the broker
/// sends them again.
package final class PostgreSQLStore: MessageStore {
  package let name: String
  private let address: String
  private var connection: PostgreSQLConnection?
  package private(set) var advice: String?
  private let partitioned: PartitionedDays
  private var partitions: PostgreSQLPartitions
  /// True if this connection has prepared the statement in `PostgreSQLSchema.prepareLatest`.
  private var isLatestPrepared = false
  private let announce: (String) -> Void

  /// The maximum number of attempts for a transaction that conflicts with one of another recorder.
  private static let mostAttempts = 20
  /// The seconds after which a recorder that is blocked within a transaction has its connection terminated by
  /// another recorder.
  private let stall: Double

  /// Creates the store.
  ///
  /// - Parameters:
  ///   - partitionPause: the pause in s before the next attempt to create a partition after a failure.
  ///   - stall: the seconds after which another recorder's blocked connection is terminated.
  ///   - announce: called with a sentence before long operations, and about delayed operations.
  package init(
    address: String, partitioned: PartitionedDays = PartitionedDays(), partitionPause: Double = 60,
    stall: Double = 60, announce: @escaping (String) -> Void = { _ in }
  ) {
    self.stall = stall
    partitions = PostgreSQLPartitions(partitioned, pause: partitionPause)
    self.announce = announce
    self.address = address
    self.partitioned = partitioned
    name = Self.withoutSecrets(address)
  }

  package func open() throws(FleetError) {
    connection = nil
    partitions.forget()
    isLatestPrepared = false
    do throws(PostgreSQLError) {
      connection = try PostgreSQLConnection(address)
      // A recorder whose machine loses its network within a transaction blocks other recorders. The server
      // ends such a connection: between two commands by the timeout, and during a COPY by the keepalives. A
      // process that hangs is terminated by the recorder that waits for it.
      try connection?.run(
        """
        SET idle_in_transaction_session_timeout = '60s'; SET tcp_keepalives_idle = 20; SET tcp_keepalives_interval = 5;
        SET tcp_keepalives_count = 3
        """)
      try prepare()
    } catch {
      connection = nil
      throw failure("open", error)
    }
  }

  package func store(_ messages: [RecordedMessage]) throws(FleetError) -> Int {
    if connection == nil { try open() }
    guard !messages.isEmpty else { return 0 }
    do throws(PostgreSQLError) {
      try partitions.make(
        for: messages, { sql throws(PostgreSQLError) in try connection?.run(sql).values ?? [] },
        announce: { announce("\(name): \($0)") })
      let messages = RecordedMessage.inStoringOrder(messages)
      try repeating { () throws(PostgreSQLError) in try update(messages) }
      return try repeating { () throws(PostgreSQLError) in
        do throws(PostgreSQLError) {
          try copy(messages)
          return messages.count
        } catch {
          guard error.isUniqueViolation else { throw error }
          try connection?.run("ROLLBACK")
          return try merge(messages)
        }
      }
    } catch {
      connection = nil
      throw failure("write to", error)
    }
  }

  package func close() { connection = nil }

  /// Runs a transaction, and retries it immediately after a conflict with a transaction of another recorder.
  private func repeating<Result>(
    _ transaction: () throws(PostgreSQLError) -> Result
  ) throws(PostgreSQLError) -> Result {
    var attempts = 1
    while true {
      do throws(PostgreSQLError) { return try transaction() } catch {
        guard error.isDeadlock || error.isCheckViolation || error.isLockTimeout,
          attempts < Self.mostAttempts
        else { throw error }
        attempts += 1
        try connection?.run("ROLLBACK")
        if error.isLockTimeout {
          guard try endStalled() > 0 else { throw error }
          announce("\(name): terminated the connection of a recorder that was blocked during a batch")
        }
      }
    }
  }

  /// The SQL that starts a transaction with a time limit for locks.
  private var begin: String { "BEGIN; SET LOCAL lock_timeout = \(Int(stall * 1200))" }

  /// Terminates connections of this user's other recorders that have been blocked in a COPY for too long.
  /// Their batches are not acknowledged, so the broker sends them again.
  /// - Returns: the number of terminated connections.
  private func endStalled() throws(PostgreSQLError) -> Int {
    try answer(
      """
      SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE usename = current_user AND datname = current_database() AND application_name = 'odograph'
          AND pid <> pg_backend_pid() AND state = 'active' AND wait_event = 'ClientRead' AND query LIKE 'COPY %'
          AND state_change < now() - interval '\(Int(stall * 1000)) ms'
      """
    ).flatMap(Int.init) ?? 0
  }

  private func copy(_ messages: [RecordedMessage]) throws(PostgreSQLError) {
    try connection?.run(begin)
    try connection?.copy(
      "COPY odograph.messages (\(PostgreSQLSchema.messageColumns)) FROM STDIN (FORMAT binary)",
      Self.rows(of: messages))
    try copyFixes(of: messages) { _ in true }
    try connection?.run("COMMIT")
  }

  private func merge(_ messages: [RecordedMessage]) throws(PostgreSQLError) -> Int {
    try connection?.run(PostgreSQLSchema.staging)
    try connection?.run(begin)
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
      // If the batch contains a track twice, its fixes are written once.
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
    // Elements of a span are accessed in place; a loop over the array would copy each message.
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
        state: "odograph", message: "the server is a read-only replica; name the primary server")
    }
    // The lock lets only one recorder create or migrate the schema; several recorders can start
    // simultaneously.
    try connection?.run("SELECT pg_advisory_lock(\(PostgreSQLSchema.lock))")
    var isRenewed = false
    var isIndexed = true
    if try answer("SELECT to_regclass('odograph.schema_version') IS NOT NULL") == "t" {
      let version = try answer("SELECT version FROM odograph.schema_version").flatMap(Int.init)
      guard let version, (1...PostgreSQLSchema.version).contains(version) else {
        throw PostgreSQLError(state: "odograph", message: RecordingAddress.newerVersion)
      }
      if version <= PostgreSQLMigration.otherTables { try migrate() }
      isRenewed = (PostgreSQLMigration.otherTables + 1..<RecordingColumns.suspectVersion).contains(version)
      isIndexed = version <= PostgreSQLMigration.otherTables || version >= TraceIndex.version
      if isRenewed {
        try connection?.run("BEGIN; \(PostgreSQLViews.positions)")
        if version < JournalTable.version {
          try connection?.run(PostgreSQLJournal.creation)
          try fillJournal()
        }
        try connection?.run("\(RecordingColumns.markSuspects("odograph.")) COMMIT")
      }
    } else {
      try connection?.run("BEGIN; CREATE SCHEMA IF NOT EXISTS odograph; \(PostgreSQLSchema.creation) COMMIT;")
    }
    if try answer(PostgreSQLViews.lacksPredicted) == "t" { try connection?.run(PostgreSQLViews.predicted) }
    try preparePostGIS(anew: isRenewed)
    // Older versions than 3 were migrated to new tables, which already have the current version.
    if isRenewed { try connection?.run(PostgreSQLMigration.isRenewed) }
    try connection?.run("SELECT pg_advisory_unlock(\(PostgreSQLSchema.lock))")
    if !isIndexed { try makeTraceIndex() }
  }

  /// Creates the index of traces while other recorders continue. If a long query blocks it, the next start
  /// continues.
  private func makeTraceIndex() throws(PostgreSQLError) {
    guard try answer("SELECT pg_try_advisory_lock(\(PostgreSQLTraceIndex.lock))") == "t" else { return }
    try connection?.run("SET lock_timeout = \(PostgreSQLTraceIndex.lockTimeout)")
    var attempts = PostgreSQLTraceIndex.attempts
    var isAnnounced = false
    while attempts > 0 {
      attempts -= 1
      do throws(PostgreSQLError) {
        try buildTraceIndex(isAnnounced: &isAnnounced)
        attempts = 0
      } catch {
        // A missing index only slows queries down, so its error is reported. A lost connection is a failure.
        guard !error.state.isEmpty else { throw error }
        // Meanwhile another recorder has created a partition or dropped an old one. The creation is retried.
        if error.isDeadlock || error.state == "42P01", attempts > 0 { continue }
        attempts = 0
        let cause =
          error.isLockTimeout || error.isDeadlock
          ? "other connections hold long locks on it" : error.message
        announce(
          "\(name): \(cause); the index of traces is created at the next start; until then, "
            + "queries for traces read all messages of a vehicle")
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
          "\(name): creating the index of traces, while other recorders continue; recording starts when it is complete"
        )
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
      "\(name) is of an older version; its tables are migrated, which takes minutes if "
        + "the tables have millions of rows")
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

  /// Creates the views and indexes that use PostGIS if it is installed, and replaces them if it was removed.
  /// - Parameter isRenewed: true if the views are those of an older version.
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
        + "run CREATE EXTENSION postgis, and restart odograph"
  }

  /// Returns the first column of the first row.
  private func answer(_ sql: String, _ parameters: [String] = []) throws(PostgreSQLError) -> String? {
    try connection?.run(sql, parameters).values.first?.first ?? nil
  }

  package func expire(before day: Day, today: Day) throws(FleetError) -> StoreExpiry {
    if connection == nil { try open() }
    var expiry = StoreExpiry()
    var problem: PostgreSQLError?
    do throws(PostgreSQLError) {
      guard try answer("SELECT pg_try_advisory_lock(\(PostgreSQLExpiry.lock))") == "t" else { return expiry }
      (expiry.partitions, problem) = try PostgreSQLExpiry.dropPartitions(before: day) {
        sql throws(PostgreSQLError) in
        try connection?.run(sql).values ?? []
      }
      partitions.forget(before: day)
      let old = PostgreSQLSchema.expiry(before: day, believed: PartitionedDays().before)
      for sql in old + PostgreSQLJournal.expiry(before: day, today: today) {
        expiry.rows += try repeating { () throws(PostgreSQLError) in
          try connection?.run("BEGIN")
          let changed = try connection?.run(sql).changed ?? 0
          try connection?.run("COMMIT")
          return changed
        }
      }
      try connection?.run("SELECT pg_advisory_unlock(\(PostgreSQLExpiry.lock))")
    } catch {
      connection = nil
      throw failure("delete from", error)
    }
    if let problem { throw failure("delete old rows from", problem) }
    return expiry
  }

  /// Updates `latest`, trips and driving events with a batch.
  private func update(_ messages: [RecordedMessage]) throws(PostgreSQLError) {
    let latest = LatestPositions(messages)
    let journal = JournalRow.rows(of: messages)
    guard !latest.positions.isEmpty || !journal.isEmpty else { return }
    if !isLatestPrepared { try connection?.run(PostgreSQLSchema.prepareLatest) }
    isLatestPrepared = true
    try connection?.run("\(begin); SET LOCAL synchronous_commit = off")
    if !latest.positions.isEmpty {
      try connection?.run(prepared: PostgreSQLSchema.updateLatest, latest.arrays)
    }
    try updateJournal(journal)
    try connection?.run("COMMIT")
  }

  /// Inserts or updates trips and driving events within a transaction. Existing rows with a higher rank are
  /// unchanged.
  private func updateJournal(_ rows: [JournalRow]) throws(PostgreSQLError) {
    guard !rows.isEmpty else { return }
    for table in JournalTable.all {
      guard let copy = PostgreSQLJournal.copy(of: rows, into: table) else { continue }
      try connection?.run(table.staging)
      try connection?.copy(table.copyToStaging, copy)
      try connection?.run(table.fromStaging)
    }
  }

  /// Fills the tables of trips and driving events from messages recorded before these tables existed. It must
  /// run within a transaction.
  private func fillJournal() throws(PostgreSQLError) {
    if try answer(PostgreSQLJournal.isLarge) == "t" {
      announce(
        "\(name) is of an older version; trips and driving events are extracted, which takes minutes if "
          + "the tables have millions of rows")
    }
    try connection?.run(PostgreSQLJournal.recorded)
    while let rows = try connection?.run(PostgreSQLJournal.nextRecorded).values, !rows.isEmpty {
      try updateJournal(rows.compactMap(PostgreSQLJournal.row))
      // The temporary tables are emptied explicitly, because one transaction uses them several times. A
      // recorder does not need this: its tables are emptied when the transaction ends, and a TRUNCATE would
      // make the commit wait for the disk.
      for table in JournalTable.all { try connection?.run(table.staging + "; " + table.emptyStaging) }
    }
    try connection?.run(PostgreSQLJournal.closeRecorded)
  }

  private func failure(_ operation: String, _ error: PostgreSQLError) -> FleetError {
    let remedy = error.recordingRemedy.map { "; \($0)" } ?? ""
    return FleetError(operation: operation, object: name, cause: error.message + remedy, kind: .outputFailed)
  }

  /// Returns the address without password and parameters.
  package static func withoutSecrets(_ address: String) -> String {
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
  /// Appends a row in the order of `PostgreSQLSchema.messageColumns`.
  package mutating func append(_ message: RecordedMessage) {
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

  /// Appends rows in the order of `PostgreSQLSchema.fixColumns`.
  package mutating func append(fixesOf message: RecordedMessage) {
    for (place, fix) in message.fixes.enumerated() {
      beginRow(columns: 12)
      columns(of: fix, at: place, in: message)
    }
  }
}
