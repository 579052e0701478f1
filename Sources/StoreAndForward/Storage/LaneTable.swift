internal import SQLite
internal import Spatial
internal import Telemetry

/// The statements of one lane's table.
final class LaneTable {
  /// A row of the table; the record is nil if its checksum is invalid.
  struct Row {
    var seq: UInt64
    var cost: Int
    var record: OutboxRecord?
  }

  /// Size in bytes after which a portion ends, regardless of the number of records.
  private static let portionBytes = 256 << 10

  let lane: DeliveryLane
  private var insertion: Statement
  private var reading: Statement
  private var removal: Statement
  private var rangeRemoval: Statement
  private var front: Statement
  private var single: Statement
  private var sameTopic: Statement

  init(_ lane: DeliveryLane, _ database: borrowing Database) throws(SQLiteError) {
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

  func insert(_ record: OutboxRecord) throws(SQLiteError) {
    insertion.bind(record)
    try insertion.run()
  }

  /// Reads the records after a position, in order: at most `limit`, and at least one if available.
  func read(after seq: UInt64, limit: Int) throws(SQLiteError) -> [Row] {
    var rows: [Row] = []
    var bytes = 0
    reading.bind(1, Int64(clamping: seq))
    reading.bind(2, Int64(limit))
    while try reading.step() {
      let row = Self.row(reading, lane)
      rows.append(row)
      bytes += row.cost
      if bytes > Self.portionBytes {
        reading.reset()
        break
      }
    }
    return rows
  }

  /// Returns a record; nil if it is missing or its checksum is invalid.
  func find(_ seq: UInt64) throws(SQLiteError) -> OutboxRecord? {
    single.bind(1, Int64(clamping: seq))
    guard try single.step() else { return nil }
    defer { single.reset() }
    return Self.row(single, lane).record
  }

  /// Returns position, cost and time of the oldest record; nil if the lane is empty.
  func oldest() throws(SQLiteError) -> (seq: UInt64, cost: Int, storedAt: Int64)? {
    guard try front.step() else { return nil }
    defer { front.reset() }
    return (UInt64(clamping: front.int64(0)), Int(front.int64(1)), front.int64(2))
  }

  /// Returns position and cost of a topic's record (the state lane has at most one); nil if there is none.
  func place(of topic: String) throws(SQLiteError) -> (seq: UInt64, cost: Int)? {
    sameTopic.bind(1, topic)
    guard try sameTopic.step() else { return nil }
    defer { sameTopic.reset() }
    return (UInt64(clamping: sameTopic.int64(0)), Int(sameTopic.int64(1)))
  }

  func remove(_ seq: UInt64) throws(SQLiteError) {
    removal.bind(1, Int64(clamping: seq))
    try removal.run()
  }

  func remove(_ range: ClosedRange<UInt64>) throws(SQLiteError) {
    rangeRemoval.bind(1, Int64(clamping: range.lowerBound))
    rangeRemoval.bind(2, Int64(clamping: range.upperBound))
    try rangeRemoval.run()
  }

  private static func row(_ statement: borrowing Statement, _ lane: DeliveryLane) -> Row {
    let record = OutboxRecord(statement, lane)
    return Row(seq: record.seq, cost: record.cost, record: statement.isSound(record) ? record : nil)
  }
}

extension OutboxRecord {
  /// Reads the columns of `Schema.columns`.
  init(_ row: borrowing Statement, _ lane: DeliveryLane) {
    self.init(
      lane: lane, topic: row.text(1) ?? "", payload: row.bytes(2), qos: UInt8(clamping: row.int64(3)),
      retain: row.int64(4) != 0, contentType: row.text(5),
      expiry: row.integer(6).map { UInt32(clamping: $0) }, createdAt: UTCTime(nanoseconds: row.int64(7)))
    seq = UInt64(clamping: row.int64(0))
    storedAt = row.int64(8)
  }
}

extension Statement {
  /// Binds the columns of `Schema.columns` to the first ten parameters.
  mutating func bind(_ record: OutboxRecord) {
    bind(1, Int64(record.seq))
    bind(2, record.topic)
    bind(3, blob: record.payload)
    bind(4, Int64(record.qos))
    bind(5, record.retain)
    bind(6, record.contentType)
    bind(7, record.expiry.map(Int64.init))
    bind(8, record.createdAt.nanoseconds)
    bind(9, record.storedAt)
    bind(10, Checksum.of(record))
  }

  /// Returns whether the checksum of the current row matches its record.
  func isSound(_ record: OutboxRecord) -> Bool {
    Checksum.of(record) == int64(9)
  }
}
