internal import CSQLite
internal import Glibc

/// The open database with its counters. A call that throws has changed nothing, neither on disk nor here.
final class Store {
  let path: String
  let epoch: String
  let clock: StoreClock
  /// Whether opening found that the file is a copy, and so began a new epoch.
  let isCopy: Bool
  var sequence: Sequence
  private(set) var lanes: [OutboxStatus.LaneStatus] = []
  /// The largest seq ever put into each lane.
  private(set) var newest: [UInt64] = []
  private(set) var deadCount = 0
  private(set) var commits = 0
  let database: Database
  let tables: [LaneTable]
  private let counters: Statement
  private let meta: Statement
  private let burial: Statement
  private var isSynchronous = false

  /// Opens a store, and makes it where there is none.
  /// - Throws: `SQLiteFailure`; see `isDamage`.
  init(path: String) throws(SQLiteFailure) {
    self.path = path
    database = try Database(path: path, mode: .create)
    try database.execute(Schema.pragmas)
    // A large store is not worth the wait: damage in it shows when it is met, and is dealt with then.
    if try Self.isSmall(database), try database.text("PRAGMA quick_check(1)") != "ok" {
      throw SQLiteFailure(code: SQLITE_CORRUPT, message: "quick_check failed", operation: "open \(path)")
    }
    try database.execute("BEGIN IMMEDIATE;" + Schema.creation + "COMMIT;")
    let format = try database.integer("SELECT value FROM meta WHERE key = 'format'")
    guard format == nil || format == Schema.format else {
      throw SQLiteFailure(
        code: SQLITE_NOTADB, message: "the store is of format \(format ?? 0)", operation: "open \(path)")
    }
    let known = try database.text("SELECT value FROM meta WHERE key = 'epoch'")
    let inode = Self.inode(of: path)
    let knownInode = try database.integer("SELECT value FROM meta WHERE key = 'inode'")
    isCopy = known != nil && knownInode != inode
    epoch = isCopy ? Self.newEpoch() : known ?? Self.newEpoch()
    sequence = Sequence(
      reserved: UInt64(try database.integer("SELECT value FROM meta WHERE key = 'reserved'") ?? 1))
    meta = try database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")
    counters = try database.prepare(
      """
      UPDATE lanes SET records = ?2, bytes = ?3, dropped_space = ?4, dropped_age = ?5, damaged = ?6
      WHERE lane = ?1
      """)
    burial = try database.prepare(
      """
      INSERT OR REPLACE INTO dead (\(Schema.columns), lane, reason, refused)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
      """)
    var tables: [LaneTable] = []
    var lastSeen = try database.integer("SELECT value FROM meta WHERE key = 'clock'") ?? 0
    for lane in Lane.allCases {
      tables.append(try LaneTable(lane, database))
      let table = Schema.table(lane)
      newest.append(UInt64(try database.integer("SELECT max(seq) FROM \(table)") ?? 0))
      let stored = try database.integer("SELECT stored FROM \(table) ORDER BY seq DESC LIMIT 1")
      lastSeen = max(lastSeen, stored ?? 0)
    }
    self.tables = tables
    clock = StoreClock(lastSeen: lastSeen)
    deadCount = Int(try database.integer("SELECT count(*) FROM dead") ?? 0)
    lanes = try Self.readCounters(database)
    try setUp(inode: inode)
  }

  private func setUp(inode: Int64) throws(SQLiteFailure) {
    try transaction(synced: true) { () throws(SQLiteFailure) in
      try setMeta("format", String(Schema.format))
      try setMeta("epoch", epoch)
      try setMeta("inode", String(inode))
    }
  }

  // MARK: Transactions

  /// Runs `body` in a transaction, with the counters of all lanes that it changed.
  /// - Parameter synced: whether a power cut after this returns may undo it.
  func transaction(
    synced: Bool, _ body: () throws(SQLiteFailure) -> Void
  ) throws(SQLiteFailure) {
    if synced != isSynchronous {
      try database.execute(synced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
      isSynchronous = synced
    }
    let (lanesBefore, newestBefore, deadBefore) = (lanes, newest, deadCount)
    do throws(SQLiteFailure) {
      try database.execute("BEGIN IMMEDIATE")
      try body()
      for lane in Lane.allCases where lanes[lane.rawValue] != lanesBefore[lane.rawValue] {
        try writeCounters(lane)
      }
      try database.execute("COMMIT")
      commits += 1
    } catch {
      if database.isInTransaction { try? database.execute("ROLLBACK") }
      (lanes, newest, deadCount) = (lanesBefore, newestBefore, deadBefore)
      throw error
    }
  }

  /// Makes a mark safe below which numbers are given out.
  func reserve(_ mark: UInt64) throws(SQLiteFailure) {
    try transaction(synced: true) { () throws(SQLiteFailure) in
      try setMeta("reserved", String(mark))
    }
    sequence.reserved(upTo: mark)
  }

  func setMeta(_ key: String, _ value: String) throws(SQLiteFailure) {
    meta.bind(1, key)
    meta.bind(2, value)
    try meta.run()
  }

  // MARK: Inside a transaction

  /// Puts a record into its lane; in the state lane it replaces the one of its topic.
  func insert(_ record: Record) throws(SQLiteFailure) {
    let table = tables[record.lane.rawValue]
    if record.lane == .state, let older = try table.place(of: record.topic) {
      try remove(older.seq, cost: older.cost, from: .state)
    }
    try table.insert(record)
    change(record.lane) {
      $0.records += 1
      $0.bytes += record.cost
    }
    newest[record.lane.rawValue] = max(newest[record.lane.rawValue], record.seq)
  }

  /// Removes a record of known cost. Returns false when it is not there (any more).
  @discardableResult
  func remove(_ seq: UInt64, cost: Int, from lane: Lane) throws(SQLiteFailure) -> Bool {
    try tables[lane.rawValue].remove(seq)
    guard database.changes > 0 else { return false }
    change(lane) {
      $0.records -= 1
      $0.bytes -= cost
    }
    return true
  }

  /// Removes all records of a range, if there are as many as the caller believes. Returns false, and removes
  /// none, otherwise.
  func removeRow(
    _ range: ClosedRange<UInt64>, of lane: Lane, count: Int, cost: Int
  ) throws(SQLiteFailure) -> Bool {
    try database.execute("SAVEPOINT row")
    try tables[lane.rawValue].remove(range)
    guard database.changes == count else {
      try database.execute("ROLLBACK TO row; RELEASE row")
      return false
    }
    try database.execute("RELEASE row")
    change(lane) {
      $0.records -= count
      $0.bytes -= cost
    }
    return true
  }

  func find(_ seq: UInt64, in lane: Lane) throws(SQLiteFailure) -> Record? {
    try tables[lane.rawValue].find(seq)
  }

  /// Reads on in a lane. Records whose checksum is wrong come back by their seq and cost alone.
  func read(
    _ lane: Lane, after seq: UInt64, limit: Int
  ) throws(SQLiteFailure) -> [LaneTable.Row] {
    try tables[lane.rawValue].read(after: seq, limit: limit)
  }

  /// Removes the oldest records of a lane while it holds more than `bytes`.
  func makeRoom(in lane: Lane, bytes: Int) throws(SQLiteFailure) {
    while lanes[lane.rawValue].bytes > bytes, let oldest = try tables[lane.rawValue].oldest() {
      try remove(oldest.seq, cost: oldest.cost, from: lane)
      change(lane) { $0.droppedForSpace += 1 }
    }
  }

  /// Removes records from the front of a lane that are older than `age` seconds, at most `limit` of them.
  func expire(_ lane: Lane, age: Int, limit: Int) throws(SQLiteFailure) {
    for _ in 0..<limit {
      guard let oldest = try tables[lane.rawValue].oldest(), clock.now - oldest.storedAt > Int64(age) else {
        return
      }
      try remove(oldest.seq, cost: oldest.cost, from: lane)
      change(lane) { $0.droppedForAge += 1 }
    }
  }

  func change(_ lane: Lane, _ body: (inout OutboxStatus.LaneStatus) -> Void) { body(&lanes[lane.rawValue]) }

  /// Moves a record to the dead letters, of which `limit` are kept.
  func bury(_ record: Record, reason: String, at time: Int64, limit: Int) throws(SQLiteFailure) {
    burial.bind(1, Int64(record.seq))
    burial.bind(2, record.topic)
    burial.bind(3, record.payload)
    burial.bind(4, Int64(record.qos))
    burial.bind(5, record.retain ? 1 : 0)
    burial.bind(6, record.contentType)
    burial.bind(7, record.expiry.map(Int64.init))
    burial.bind(8, record.createdAt)
    burial.bind(9, record.storedAt)
    burial.bind(10, Checksum.of(topic: record.topic, payload: record.payload))
    burial.bind(11, Int64(record.lane.rawValue))
    burial.bind(12, reason)
    burial.bind(13, time)
    try burial.run()
    deadCount += 1
    if deadCount > limit {
      try database.execute("DELETE FROM dead WHERE seq = (SELECT min(seq) FROM dead)")
      deadCount -= 1
    }
  }

  func deadLettersCleared() { deadCount = 0 }

  private func writeCounters(_ lane: Lane) throws(SQLiteFailure) {
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

extension Store {
  static func newEpoch() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  /// The file's inode number: a copy, or a backup brought back, has another.
  fileprivate static func inode(of path: String) -> Int64 {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? Int64(truncatingIfNeeded: status.st_ino) : 0
  }

  /// Whether a full check on opening takes no noticeable time.
  fileprivate static func isSmall(_ database: borrowing Database) throws(SQLiteFailure) -> Bool {
    let pages = try database.integer("PRAGMA page_count") ?? 0
    return try pages * (database.integer("PRAGMA page_size") ?? 4096) <= 8 << 20
  }

  fileprivate static func readCounters(
    _ database: borrowing Database
  ) throws(SQLiteFailure) -> [OutboxStatus.LaneStatus] {
    let statement = try database.prepare(
      "SELECT records, bytes, dropped_space, dropped_age, damaged FROM lanes ORDER BY lane")
    var result: [OutboxStatus.LaneStatus] = []
    while try statement.step() {
      var status = OutboxStatus.LaneStatus()
      status.records = Int(statement.integer(0))
      status.bytes = Int(statement.integer(1))
      status.droppedForSpace = Int(statement.integer(2))
      status.droppedForAge = Int(statement.integer(3))
      status.damaged = Int(statement.integer(4))
      result.append(status)
    }
    return result
  }
}
