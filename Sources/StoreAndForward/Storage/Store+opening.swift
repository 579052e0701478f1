internal import Glibc
internal import SQLite
internal import Telemetry

/// Reads and repairs when opening a store.
extension Store {
  /// Number of records at the end of each lane that are searched for retained ones.
  private static let depth = 1024

  /// Returns the topics of the retained records among the last records of a lane, each with the position of
  /// its newest record.
  func lastRetained(_ lane: DeliveryLane) throws(SQLiteError) -> [(topic: String, place: UInt64)] {
    var statement = try database.prepare(
      """
      SELECT topic, max(seq) FROM
        (SELECT seq, topic, retain FROM \(Schema.table(lane)) ORDER BY seq DESC LIMIT \(Self.depth))
      WHERE retain GROUP BY topic
      """)
    var places: [(topic: String, place: UInt64)] = []
    while try statement.step() {
      places.append((statement.text(0) ?? "", UInt64(clamping: statement.int64(1))))
    }
    return places
  }

  /// Returns, for each topic, the newest record that was delivered before older ones.
  func overtakers() throws(SQLiteError) -> [(topic: String, lane: DeliveryLane, place: UInt64)] {
    var statement = try database.prepare("SELECT topic, lane, seq FROM overtaken")
    var places: [(topic: String, lane: DeliveryLane, place: UInt64)] = []
    while try statement.step() {
      let lane = DeliveryLane(rawValue: Int(statement.int64(1))) ?? .other
      places.append((statement.text(0) ?? "", lane, UInt64(clamping: statement.int64(2))))
    }
    return places
  }
  /// Replaces checksums of the first format, if they are valid, by those of the current one.
  func renewChecksums() throws(SQLiteError) {
    try transaction(synced: true) { () throws(SQLiteError) in
      for lane in DeliveryLane.allCases {
        let table = Schema.table(lane)
        var reading = try database.prepare(
          "SELECT \(Schema.columns) FROM \(table) WHERE seq > ?1 ORDER BY seq LIMIT 64")
        var writing = try database.prepare("UPDATE \(table) SET checksum = ?2 WHERE seq = ?1")
        var last: Int64 = 0
        while true {
          var sums: [(seq: Int64, sum: Int64)] = []
          let before = last
          reading.bind(1, last)
          while try reading.step() {
            let record = OutboxRecord(reading, lane)
            last = Int64(clamping: record.seq)
            if Checksum.ofFormat1(record) == reading.int64(9) { sums.append((last, Checksum.of(record))) }
          }
          for (seq, sum) in sums {
            writing.bind(1, seq)
            writing.bind(2, sum)
            try writing.run()
          }
          if last <= before { break }
        }
      }
      try setMeta("format", String(Schema.format))
    }
  }

  /// Returns lane and number of the last record of an incomplete salvage.
  func salvaged() throws(SQLiteError) -> (lane: DeliveryLane, seq: UInt64)? {
    guard let text = try database.text("SELECT value FROM meta WHERE key = 'salvaged'") else { return nil }
    let parts = text.split(separator: " ").compactMap { UInt64($0) }
    guard parts.count == 2, let lane = DeliveryLane(rawValue: Int(clamping: parts[0])) else { return nil }
    return (lane, parts[1])
  }

  static func newEpoch() -> String { MessageIdentity.epoch(.random(in: .min ... .max)) }

  /// Returns the file's inode number, which differs for copies and restored backups.
  static func inode(of path: String) -> Int64 {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? Int64(truncatingIfNeeded: status.st_ino) : 0
  }

  /// Returns whether the database is small enough for a full check on opening.
  static func isSmall(_ database: borrowing Database) throws(SQLiteError) -> Bool {
    let pages = try database.integer("PRAGMA page_count") ?? 0
    return try pages * (database.integer("PRAGMA page_size") ?? 4096) <= 8 << 20
  }

  static func readCounters(
    _ database: borrowing Database
  ) throws(SQLiteError) -> [OutboxStatus.LaneStatus] {
    var statement = try database.prepare(
      "SELECT records, bytes, dropped_space, dropped_age, damaged FROM lanes ORDER BY lane")
    var result: [OutboxStatus.LaneStatus] = []
    while try statement.step() {
      var status = OutboxStatus.LaneStatus()
      status.records = Int(statement.int64(0))
      status.bytes = Int(statement.int64(1))
      status.droppedForSpace = Int(statement.int64(2))
      status.droppedForAge = Int(statement.int64(3))
      status.damaged = Int(statement.int64(4))
      result.append(status)
    }
    return result
  }
}
