internal import Glibc
internal import Platform
internal import SQLite
internal import Telemetry

/// What is done about a damaged store: it is renamed, so that a person can look into it, and every record that
/// can still be read is taken over into a new one.
enum Recovery {
  /// Renames the store's files. Returns the path under which it now rests.
  static func setAside(_ path: String) -> String {
    let base = "\(path).damaged-\(date(SystemClock.realtime / 1_000_000_000))"
    var place = base
    var number = 2
    while unsafe access(place, F_OK) == 0 {
      place = "\(base)-\(number)"
      number += 1
    }
    for suffix in ["", "-wal", "-shm"] { unsafe rename(path + suffix, place + suffix) }
    return place
  }

  /// Reads what can be read of a damaged store: each lane from its front to the damage, from its end back to
  /// it, and in between number by number.
  /// - Parameter body: is given the records of one lane after the other, in portions, in order.
  static func salvage(_ path: String, _ body: ([OutboxRecord]) -> Void) {
    guard let database = try? Database(path: path, access: .readWrite) else { return }
    for lane in DeliveryLane.allCases { salvage(lane, of: database, body) }
  }

  private static let portion = 256
  /// How many numbers are tried one by one between the readable ends.
  private static let probes: UInt64 = 100_000

  private static func salvage(
    _ lane: DeliveryLane, of database: borrowing Database, _ body: ([OutboxRecord]) -> Void
  ) {
    guard let table = try? LaneTable(lane, database) else { return }
    var last: UInt64 = 0
    while true {
      guard let rows = try? table.read(after: last, limit: portion) else { break }
      guard let end = rows.last?.seq else { return }
      body(rows.compactMap(\.record))
      last = end
    }
    // A portion that fails as a whole may begin with rows that do not.
    while let row = try? table.read(after: last, limit: 1).first {
      if let record = row.record { body([record]) }
      last = row.seq
    }
    let tail = readBackwards(lane, database, downTo: last)
    if let first = tail.first?.seq, first > last + 1 {
      for seq in (last + 1)..<min(first, last + probes) {
        if let record = try? table.find(seq) { body([record]) }
      }
    }
    body(tail)
  }

  /// The records from the end of a lane down to the damage, oldest first.
  private static func readBackwards(
    _ lane: DeliveryLane, _ database: borrowing Database, downTo limit: UInt64
  ) -> [OutboxRecord] {
    let sql = "SELECT \(Schema.columns) FROM \(Schema.table(lane)) WHERE seq > ?1 ORDER BY seq DESC"
    guard var statement = try? database.prepare(sql) else { return [] }
    statement.bind(1, Int64(clamping: limit))
    var records: [OutboxRecord] = []
    while (try? statement.step()) == true {
      let record = OutboxRecord(statement, lane)
      if statement.isSound(record) { records.append(record) }
    }
    return records.reversed()
  }

  /// Seconds since 1970 as `20261121T041500Z`.
  static func date(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = unsafe tm()
    unsafe gmtime_r(&time, &parts)
    func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let day = unsafe "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
    return unsafe "\(day)T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
  }
}
