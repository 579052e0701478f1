/// The statements of one lane's table.
final class LaneTable {
  /// A record as it stands in the table; nil when its checksum is wrong.
  struct Row {
    var seq: UInt64
    var cost: Int
    var record: Record?
  }

  /// Bytes after which a portion ends, however few its records.
  private static let portionBytes = 256 << 10

  let lane: Lane
  private let insertion: Statement
  private let reading: Statement
  private let removal: Statement
  private let rangeRemoval: Statement
  private let front: Statement
  private let single: Statement
  private let sameTopic: Statement

  init(_ lane: Lane, _ database: borrowing Database) throws(SQLiteFailure) {
    self.lane = lane
    let table = Schema.table(lane)
    insertion = try database.prepare(
      "INSERT INTO \(table) (\(Schema.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")
    reading = try database.prepare(
      "SELECT \(Schema.columns) FROM \(table) WHERE seq > ?1 ORDER BY seq LIMIT ?2")
    removal = try database.prepare("DELETE FROM \(table) WHERE seq = ?1")
    rangeRemoval = try database.prepare("DELETE FROM \(table) WHERE seq BETWEEN ?1 AND ?2")
    let cost = "length(payload) + length(CAST(topic AS BLOB)) + 48"
    front = try database.prepare("SELECT seq, \(cost), stored FROM \(table) ORDER BY seq LIMIT 1")
    single = try database.prepare("SELECT \(Schema.columns) FROM \(table) WHERE seq = ?1")
    sameTopic = try database.prepare("SELECT seq, \(cost) FROM \(table) WHERE topic = ?1")
  }

  func insert(_ record: Record) throws(SQLiteFailure) {
    insertion.bind(1, Int64(record.seq))
    insertion.bind(2, record.topic)
    insertion.bind(3, record.payload)
    insertion.bind(4, Int64(record.qos))
    insertion.bind(5, record.retain ? 1 : 0)
    insertion.bind(6, record.contentType)
    insertion.bind(7, record.expiry.map(Int64.init))
    insertion.bind(8, record.createdAt)
    insertion.bind(9, record.storedAt)
    insertion.bind(10, Checksum.of(topic: record.topic, payload: record.payload))
    try insertion.run()
  }

  /// Reads on from a place, in order: at most `limit` records, and at least one where there is one.
  func read(after seq: UInt64, limit: Int) throws(SQLiteFailure) -> [Row] {
    var rows: [Row] = []
    var bytes = 0
    reading.bind(1, Int64(clamping: seq))
    reading.bind(2, Int64(limit))
    while try reading.step() {
      let record = Self.record(reading, lane)
      let isSound = Checksum.of(topic: record.topic, payload: record.payload) == reading.integer(9)
      rows.append(Row(seq: record.seq, cost: record.cost, record: isSound ? record : nil))
      bytes += record.cost
      if bytes > Self.portionBytes {
        reading.reset()
        break
      }
    }
    return rows
  }

  /// One record; nil when it is not there (any more).
  func find(_ seq: UInt64) throws(SQLiteFailure) -> Record? {
    single.bind(1, Int64(clamping: seq))
    guard try single.step() else { return nil }
    defer { single.reset() }
    return Self.record(single, lane)
  }

  /// The oldest record's place, cost and time; nil when the lane is empty.
  func oldest() throws(SQLiteFailure) -> (seq: UInt64, cost: Int, storedAt: Int64)? {
    guard try front.step() else { return nil }
    defer { front.reset() }
    return (UInt64(clamping: front.integer(0)), Int(front.integer(1)), front.integer(2))
  }

  /// The place and cost of the record of a topic (in the state lane there is one at most).
  func place(of topic: String) throws(SQLiteFailure) -> (seq: UInt64, cost: Int)? {
    sameTopic.bind(1, topic)
    guard try sameTopic.step() else { return nil }
    defer { sameTopic.reset() }
    return (UInt64(clamping: sameTopic.integer(0)), Int(sameTopic.integer(1)))
  }

  func remove(_ seq: UInt64) throws(SQLiteFailure) {
    removal.bind(1, Int64(clamping: seq))
    try removal.run()
  }

  func remove(_ range: ClosedRange<UInt64>) throws(SQLiteFailure) {
    rangeRemoval.bind(1, Int64(clamping: range.lowerBound))
    rangeRemoval.bind(2, Int64(clamping: range.upperBound))
    try rangeRemoval.run()
  }

  /// Reads the columns of `Schema.columns`.
  static func record(_ row: borrowing Statement, _ lane: Lane) -> Record {
    Record(
      lane: lane, seq: UInt64(clamping: row.integer(0)), topic: row.text(1) ?? "", payload: row.blob(2),
      qos: UInt8(clamping: row.integer(3)), retain: row.integer(4) != 0, contentType: row.text(5),
      expiry: row.optionalInteger(6).map { UInt32(clamping: $0) }, createdAt: row.integer(7),
      storedAt: row.integer(8))
  }
}
