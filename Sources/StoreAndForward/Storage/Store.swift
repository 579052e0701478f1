internal import SQLite
internal import Telemetry

/// The open database with its counters. A call that throws has changed neither of them.
final class Store {
  let path: String
  var epoch: String
  let clock: StoreClock
  /// True if the file was found to be a copy, so that a new epoch was started.
  let isCopy: Bool
  var sequence: Sequence
  private(set) var lanes: [OutboxStatus.LaneStatus] = []
  /// The largest position ever inserted into each lane.
  private(set) var newest: [UInt64] = []
  /// For each lane, the largest position of a record that was dropped because of the lane's limits since
  /// opening.
  private(set) var dropped: [UInt64] = DeliveryLane.allCases.map { _ in 0 }
  /// Positions of the records that the last transaction replaced in the state lane.
  private(set) var replaced: [UInt64] = []
  private(set) var deadCount = 0
  private(set) var commits = 0
  let database: Database
  private let tables: [LaneTable]
  private var counters: Statement
  private var meta: Statement
  private var documentChange: Statement
  private let deadLetterTable: DeadLetterTable
  private var isSynchronous = false

  /// Opens a store, and creates it if missing.
  /// - Throws: `SQLiteError`; see `isDamage`.
  init(path: String) throws(SQLiteError) {
    self.path = path
    StoreFile.create(path)
    database = try Database(path: path, access: .create)
    try database.execute(Schema.pragmas)
    // Large stores are not checked, because that would delay the start; damage is handled when it is found.
    if try Self.isSmall(database), try database.text("PRAGMA quick_check(1)") != "ok" {
      throw SQLiteError(code: .corrupt, message: "quick_check failed", sql: "open", file: path)
    }
    try database.execute("BEGIN IMMEDIATE;" + Schema.creation + "COMMIT;")
    let format = try database.integer("SELECT value FROM meta WHERE key = 'format'")
    guard format == nil || (1...Schema.format).contains(format ?? 0) else {
      throw SQLiteError(
        code: .notADatabase, message: "the store is of format \(format ?? 0)", sql: "open", file: path)
    }
    let known = try database.text("SELECT value FROM meta WHERE key = 'epoch'")
    let inode = Self.inode(of: path)
    let knownInode = try database.integer("SELECT value FROM meta WHERE key = 'inode'")
    isCopy = known != nil && knownInode != inode
    epoch = isCopy ? Self.newEpoch() : known ?? Self.newEpoch()
    sequence = Sequence(
      reserved: UInt64(clamping: try database.integer("SELECT value FROM meta WHERE key = 'reserved'") ?? 1))
    meta = try database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")
    documentChange = try database.prepare(
      """
      INSERT INTO documents (name, content, checksum) VALUES (?1, ?2, ?3)
      ON CONFLICT (name) DO UPDATE SET content = excluded.content, checksum = excluded.checksum
      """)
    counters = try database.prepare(
      """
      UPDATE lanes SET records = ?2, bytes = ?3, dropped_space = ?4, dropped_age = ?5, damaged = ?6
      WHERE lane = ?1
      """)
    deadLetterTable = try DeadLetterTable(database)
    var tables: [LaneTable] = []
    var lastSeen = try database.integer("SELECT value FROM meta WHERE key = 'clock'") ?? 0
    for lane in DeliveryLane.allCases {
      tables.append(try LaneTable(lane, database))
      let table = Schema.table(lane)
      newest.append(UInt64(clamping: try database.integer("SELECT max(seq) FROM \(table)") ?? 0))
      let stored = try database.integer("SELECT stored FROM \(table) ORDER BY seq DESC LIMIT 1")
      lastSeen = max(lastSeen, stored ?? 0)
    }
    self.tables = tables
    clock = StoreClock(lastSeen: lastSeen)
    deadCount = Int(try database.integer("SELECT count(*) FROM dead") ?? 0)
    lanes = try Self.readCounters(database)
    if format == 1 { try renewChecksums() }
    try setUp(inode: inode)
  }

  private func setUp(inode: Int64) throws(SQLiteError) {
    try transaction(synced: true) { () throws(SQLiteError) in
      try setMeta("format", String(Schema.format))
      try setMeta("epoch", epoch)
      try setMeta("inode", String(inode))
      try moveFormerDocuments()
    }
  }

  /// Moves the documents of earlier stores, which are in `meta`, into their table.
  private func moveFormerDocuments() throws(SQLiteError) {
    let prefix = "document "
    var former: [PreservedDocument] = []
    var statement = try database.prepare("SELECT key, value FROM meta WHERE key LIKE '\(prefix)%'")
    while try statement.step() {
      let name = String((statement.text(0) ?? prefix).dropFirst(prefix.count))
      former.append(PreservedDocument(name: name, bytes: statement.bytes(1)))
    }
    for document in former { try set(document) }
    if !former.isEmpty { try database.execute("DELETE FROM meta WHERE key LIKE '\(prefix)%'") }
  }

  /// Returns the largest position that was used for a lane, a dead letter or an overtaking record. Numbers of
  /// `TemporarySequence`, under which earlier versions stored dead letters, are no positions.
  func lastPlace() throws(SQLiteError) -> UInt64 {
    var last = newest.max() ?? 0
    for table in ["dead", "overtaken"] {
      let query = "SELECT max(seq) FROM \(table) WHERE seq < \(TemporarySequence.first)"
      last = max(last, UInt64(clamping: try database.integer(query) ?? 0))
    }
    return last
  }

  // MARK: Transactions

  /// Runs `body` in a transaction, and stores the counters of all changed lanes.
  /// - Parameter synced: true to sync the transaction, so that a power cut after the call cannot undo it.
  func transaction(
    synced: Bool, _ body: () throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    if synced != isSynchronous {
      try database.execute(synced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
      isSynchronous = synced
    }
    let before = (lanes, newest, dropped, deadCount)
    replaced = []
    do throws(SQLiteError) {
      try database.transaction { () throws(SQLiteError) in
        try body()
        for lane in DeliveryLane.allCases where lanes[lane.rawValue] != before.0[lane.rawValue] {
          try writeCounters(lane)
        }
      }
      commits += 1
    } catch {
      (lanes, newest, dropped, deadCount) = before
      replaced = []
      throw error
    }
  }

  /// Stores the mark below which sequence numbers may be assigned (`Sequence`), and syncs it.
  func reserve(_ mark: UInt64) throws(SQLiteError) {
    try transaction(synced: true) { () throws(SQLiteError) in
      try setMeta("reserved", String(mark))
    }
    sequence.reserved(upTo: mark)
  }

  func setMeta(_ key: String, _ value: String) throws(SQLiteError) {
    meta.bind(1, key)
    meta.bind(2, value)
    try meta.run()
  }

  func set(_ document: PreservedDocument) throws(SQLiteError) {
    documentChange.bind(1, document.name)
    documentChange.bind(2, blob: document.bytes)
    documentChange.bind(3, Checksum.of(document))
    try documentChange.run()
  }

  /// Returns the documents by name.
  func documents() throws(SQLiteError) -> [String: [UInt8]] {
    var statement = try database.prepare("SELECT name, content FROM documents")
    var documents: [String: [UInt8]] = [:]
    while try statement.step() { documents[statement.text(0) ?? ""] = statement.bytes(1) }
    return documents
  }

  // MARK: Inside a transaction

  /// Inserts a record into its lane; in the state lane it replaces the record of the same topic.
  func insert(_ record: OutboxRecord) throws(SQLiteError) {
    let table = tables[record.lane.rawValue]
    if record.lane == .state, let older = try table.place(of: record.topic) {
      try remove(older.seq, cost: older.cost, from: .state)
      replaced.append(older.seq)
    }
    try table.insert(record)
    lanes[record.lane.rawValue].records += 1
    lanes[record.lane.rawValue].bytes += record.cost
    newest[record.lane.rawValue] = max(newest[record.lane.rawValue], record.seq)
  }

  /// Removes a record of known cost. Returns false if it is missing.
  @discardableResult
  func remove(_ seq: UInt64, cost: Int, from lane: DeliveryLane) throws(SQLiteError) -> Bool {
    try tables[lane.rawValue].remove(seq)
    guard database.changes > 0 else { return false }
    lanes[lane.rawValue].records -= 1
    lanes[lane.rawValue].bytes -= cost
    return true
  }

  /// Deletes completed records. Consecutively handed out records are adjacent in the table and are deleted by
  /// one statement.
  func delete(_ removals: [Removal]) throws(SQLiteError) {
    var rest = removals.sorted { a, b in
      (a.record.lane, a.record.place) < (b.record.lane, b.record.place)
    }[...]
    while let first = rest.first {
      let row = rest.enumerated().prefix { index, removal in
        removal.record.lane == first.record.lane && removal.record.turn == first.record.turn + index
          && removal.cause == first.cause
      }.map(\.element)
      rest = rest.dropFirst(row.count)
      let count = try delete(row: row.map(\.record))
      switch first.cause {
      case .acknowledged: break
      case .expired: lanes[first.record.lane.rawValue].droppedForAge += count
      case .damaged: lanes[first.record.lane.rawValue].damaged += count
      }
    }
    // Overtaking records are stored, so that after a restart no older record of the topic counts as the
    // newest.
    for removal in removals {
      guard let topic = removal.overtook else { continue }
      try insert(Overtaking(topic: topic, lane: removal.record.lane, place: removal.record.place))
    }
  }

  /// Stores that a record was delivered before older records of its topic.
  func insert(_ overtaking: Overtaking) throws(SQLiteError) {
    var statement = try database.prepare(
      """
      INSERT INTO overtaken (topic, lane, seq) VALUES (?1, ?2, ?3)
      ON CONFLICT (topic) DO UPDATE SET lane = excluded.lane, seq = excluded.seq WHERE excluded.seq > seq
      """)
    statement.bind(1, overtaking.topic)
    statement.bind(2, Int64(overtaking.lane.rawValue))
    statement.bind(3, Int64(clamping: overtaking.place))
    try statement.run()
  }

  /// Deletes adjacent records. Returns the number of those that existed.
  private func delete(row: [HandedOut]) throws(SQLiteError) -> Int {
    guard let first = row.first, let last = row.last else { return 0 }
    if row.count > 1 {
      let cost = row.reduce(0) { $0 + $1.cost }
      if try delete(first.place...last.place, of: first.lane, count: row.count, cost: cost) {
        return row.count
      }
    }
    // Some of the records were dropped or replaced in the meantime. Single deletions count those that still
    // existed.
    var count = 0
    for record in row where try remove(record.place, cost: record.cost, from: record.lane) { count += 1 }
    return count
  }

  /// Deletes all records in a range of positions if there are exactly `count`. Otherwise returns false and
  /// deletes none.
  private func delete(
    _ range: ClosedRange<UInt64>, of lane: DeliveryLane, count: Int, cost: Int
  ) throws(SQLiteError) -> Bool {
    try database.execute("SAVEPOINT row")
    try tables[lane.rawValue].remove(range)
    guard database.changes == count else {
      try database.execute("ROLLBACK TO row; RELEASE row")
      return false
    }
    try database.execute("RELEASE row")
    lanes[lane.rawValue].records -= count
    lanes[lane.rawValue].bytes -= cost
    return true
  }

  func find(_ seq: UInt64, in lane: DeliveryLane) throws(SQLiteError) -> OutboxRecord? {
    try tables[lane.rawValue].find(seq)
  }

  /// Reads records of a lane in order. Records with an invalid checksum are returned as position and cost
  /// only.
  func read(
    _ lane: DeliveryLane, after seq: UInt64, limit: Int
  ) throws(SQLiteError) -> [LaneTable.Row] {
    try tables[lane.rawValue].read(after: seq, limit: limit)
  }

  /// Drops the oldest records of lanes that exceed their limits.
  func makeRoom(in lanes: Set<DeliveryLane>, _ limits: OutboxConfiguration) throws(SQLiteError) {
    for lane in lanes {
      let bytes = limits.limits(of: lane).bytes
      while self.lanes[lane.rawValue].bytes > bytes, let oldest = try tables[lane.rawValue].oldest() {
        try remove(oldest.seq, cost: oldest.cost, from: lane)
        self.lanes[lane.rawValue].droppedForSpace += 1
        dropped[lane.rawValue] = oldest.seq
      }
    }
  }

  /// Drops records that exceed their lanes' age, at most `limit` of each lane.
  func expire(_ limits: OutboxConfiguration, limit: Int) throws(SQLiteError) {
    for lane in DeliveryLane.allCases {
      guard let age = limits.limits(of: lane).age else { continue }
      for _ in 0..<limit {
        guard let oldest = try tables[lane.rawValue].oldest(), clock.now &- oldest.storedAt > Int64(age)
        else {
          break
        }
        try remove(oldest.seq, cost: oldest.cost, from: lane)
        lanes[lane.rawValue].droppedForAge += 1
        dropped[lane.rawValue] = oldest.seq
      }
    }
  }

  /// Adds a dead letter, and drops the oldest above `limit`.
  func insert(_ letter: DeadLetter, limit: Int) throws(SQLiteError) {
    try deadLetterTable.insert(letter)
    deadCount += 1
    if deadCount > limit {
      try database.execute("DELETE FROM dead WHERE seq = (SELECT min(seq) FROM dead)")
      deadCount -= 1
    }
  }

  /// Counts records that were lost in a damaged file. Their lane is unknown, so they count for the events
  /// lane.
  func countDamaged(_ count: Int) { lanes[DeliveryLane.events.rawValue].damaged += count }

  func deadLetters(limit: Int) throws(SQLiteError) -> [DeadLetter] {
    try DeadLetterTable.read(database, limit: limit)
  }

  func clearDeadLetters() throws(SQLiteError) {
    try database.execute("DELETE FROM dead")
    deadCount = 0
  }

  private func writeCounters(_ lane: DeliveryLane) throws(SQLiteError) {
    let status = lanes[lane.rawValue]
    counters.bind(1, Int64(lane.rawValue))
    counters.bind(2, Int64(status.records))
    counters.bind(3, Int64(status.bytes))
    counters.bind(4, Int64(status.droppedForSpace))
    counters.bind(5, Int64(status.droppedForAge))
    counters.bind(6, Int64(status.damaged))
    try counters.run()
  }
}
