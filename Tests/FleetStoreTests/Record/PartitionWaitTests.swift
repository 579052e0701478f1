import FleetFixtures
import FleetStore
import Foundation
import Platform
import TestSupport
import Testing

/// Long queries block neither recording at midnight nor the deletion of old data.
@Suite struct PartitionWaitTests {
  private typealias Rows = RecordedRows

  /// A reader of a whole recording with an open cursor, like `export`.
  private func reader(
    _ server: PostgreSQLFixture, _ tables: [String] = ["messages", "fixes"]
  ) throws -> PostgreSQLConnection {
    let reader = try PostgreSQLConnection(server.url)
    try reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    for table in tables {
      try reader.run("DECLARE \(table) NO SCROLL CURSOR FOR SELECT * FROM odograph.\(table)")
      try reader.run("FETCH 1 FROM \(table)")
    }
    return reader
  }

  private func count(_ server: PostgreSQLFixture, _ table: String) throws -> String {
    try server.query("SELECT count(*) FROM odograph.\(table)")[0][0]
  }

  @Test(.timeLimit(.minutes(3)), .needs(.postgreSQL)) func aNewDayDoesNotWaitForAReader() throws {
    let server = try PostgreSQLFixture()
    var said: [String] = []
    let store = PostgreSQLStore(address: server.url, partitionPause: 0) { said.append($0) }
    let day = Rows.of([Rows.location(1, at: 0), Rows.track(2, at: 10, latitudes: [48, 49])])
    #expect(try store.store(day) == 2)
    let reader = try reader(server)
    let next = Rows.of(
      [
        Rows.location(3, at: Rows.day), Rows.track(4, at: Rows.day, latitudes: [50, 51]),
        ("van/heading", #"{"time":"2026-11-22T12:00:00.000Z","heading":1}"#),
      ], at: Rows.day)
    #expect(try store.store(next) == 3)
    // Repeated messages are detected there, as in a partition.
    #expect(try store.store(next) == 0)
    #expect(try count(server, "messages_default") == "3")
    #expect(try count(server, "fixes_default") == "2")
    #expect(said.count == 1 && said[0].contains("delays the partition of 2026-11-22"), "\(said)")
    try reader.run("COMMIT")
    // The next message creates the partition, and the earlier rows are moved to it.
    let later = Rows.of([Rows.location(5, at: Rows.day + 1)], at: Rows.day + 1)
    #expect(try store.store(later) == 1)
    for (table, rows) in [
      ("messages_default", "0"), ("fixes_default", "0"), ("messages_20261122", "4"), ("fixes_20261122", "2"),
      ("messages", "6"), ("fixes", "4"),
    ] {
      #expect(try count(server, table) == rows, "\(table)")
    }
    #expect(try store.store(next + later + day) == 0)
    for seq in ["seq = 3", "seq IS NULL"] {
      let copy = "INSERT INTO odograph.messages SELECT * FROM odograph.messages WHERE \(seq)"
      #expect { try server.query(copy) } throws: { "\($0)".contains("duplicate key") }
    }
    #expect(said.count == 1)
  }

  @Test(.timeLimit(.minutes(3)), .needs(.postgreSQL)) func aBlockedPartitionIsNotRetriedByEachCommit() throws
  {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url, partitionPause: 3600) { _ in }
    _ = try store.store(Rows.of([Rows.location(1, at: 0)]))
    let reader = try reader(server)
    _ = try store.store(Rows.of([Rows.location(2, at: Rows.day)], at: Rows.day))
    try reader.run("COMMIT")
    _ = try store.store(Rows.of([Rows.location(3, at: 2 * Rows.day)], at: 2 * Rows.day))
    #expect(try count(server, "messages_default") == "2")
    // A recorder that starts retries it.
    let other = PostgreSQLStore(address: server.url)
    _ = try other.store(Rows.of([Rows.location(4, at: Rows.day), Rows.location(5, at: 2 * Rows.day)]))
    #expect(try count(server, "messages_default") == "0")
    #expect(try count(server, "messages") == "5")
  }

  @Test(.needs(.postgreSQL)) func theComingDayHasItsPartitionInTheEvening() throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    func tomorrow() throws -> [[String]] {
      try server.query(
        "SELECT to_regclass('odograph.messages_20261122'), to_regclass('odograph.fixes_20261122')")
    }
    _ = try store.store(Rows.of([Rows.location(1, at: 0)], at: 5.9 * 3600))
    #expect(try tomorrow() == [["", ""]])
    _ = try store.store(Rows.of([Rows.location(2, at: 1)], at: 6.1 * 3600))
    #expect(try tomorrow() == [["odograph.messages_20261122", "odograph.fixes_20261122"]])
  }

  /// Four recorders store the same days while readers come and go and partitions are created: no row is duplicated or lost.
  @Test(.timeLimit(.minutes(5)), .needs(.postgreSQL)) func daysGetTheirPartitionsWhileOthersStore()
    async throws
  {
    let server = try PostgreSQLFixture()
    let url = server.url
    try PostgreSQLStore(address: url).open()
    let ended = Locked<[(added: Int, problems: [String])]>([])
    for recorder in 0..<4 {
      Thread.detachNewThread {
        // One recorder creates partitions as soon as it can; the others leave it to that one.
        let pause = recorder == 0 ? 0 : 3600.0
        let store = PostgreSQLStore(address: url, partitionPause: pause) { _ in }
        var (added, problems) = (0, [String]())
        for batch in 0..<60 {
          let rows = (0..<40).map { number in
            Rows.location(
              "van-\(number)", batch, at: -Double((batch + number) % 12) * Rows.day + Double(batch))
          }
          // Recorders store the rows in opposite orders.
          let order = recorder.isMultiple(of: 2) ? rows : rows.reversed()
          do { added += try store.store(Rows.of(order)) } catch { problems.append("\(error)") }
        }
        ended.withLock { $0.append((added, problems)) }
      }
    }
    var reads = 0
    while ended.withLock({ $0.count }) < 4 {
      let reader = try reader(server)
      try await Task.sleep(for: .milliseconds(300))
      try reader.run("COMMIT")
      try await Task.sleep(for: .milliseconds(50))
      reads += 1
    }
    let results = ended.withLock { $0 }
    #expect(results.flatMap(\.problems) == [])
    #expect(results.reduce(0) { $0 + $1.added } == 60 * 40)
    #expect(
      try server.query("SELECT count(*), count(DISTINCT (vehicle, time, seq)) FROM odograph.messages")
        == [["2400", "2400"]])
    let store = PostgreSQLStore(address: url)
    for batch in 0..<12 {
      let rows = (0..<40).map { number in
        Rows.location("van-\(number)", batch, at: -Double((batch + number) % 12) * Rows.day + Double(batch))
      }
      #expect(try store.store(Rows.of(rows)) == 0)
    }
    #expect(try count(server, "messages_default") == "0")
    #expect(
      try server.query(
        """
        SELECT count(*) FROM odograph.latest JOIN (
          SELECT vehicle, max(time) AS time FROM odograph.messages GROUP BY 1) AS newest USING (vehicle, time)
        """) == [["40"]])
  }

  @Test(.timeLimit(.minutes(3)), .needs(.postgreSQL)) func oldDataIsDeletedWhileOthersReadAndRecord()
    async throws
  {
    let server = try PostgreSQLFixture()
    let url = server.url
    let store = PostgreSQLStore(address: url)
    let old = [-100.0, -99, -98].map { $0 * Rows.day }
    for (number, second) in old.enumerated() {
      let rows = [
        Rows.location(number + 1, at: second), Rows.track(number + 10, at: second, latitudes: [48]),
      ]
      _ = try store.store(Rows.of(rows, at: second))
    }
    let limit = try #require(Day(text: "2026-08-23"))
    let today = try #require(Day(text: "2026-11-21"))
    // The reader of messages blocks their partitions, but not those of fixes.
    let messages = try reader(server, ["messages"])
    let kept = try PostgreSQLStore(address: url).expire(before: limit, today: today)
    #expect(kept.partitions == 3)
    #expect(try count(server, "messages") == "6")
    #expect(try count(server, "fixes") == "0")
    try messages.run("COMMIT")
    // Two simultaneous runs do not conflict, and delete each partition once.
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<2 {
        group.addTask { try PostgreSQLStore(address: url).expire(before: limit, today: today).partitions }
      }
      return try await group.reduce(0, +)
    }
    #expect(sum == 3)
    #expect(try count(server, "messages") == "0")
  }

  /// A partition that another recorder has dropped is not an error, and the following ones are deleted, too.
  @Test(.needs(.postgreSQL)) func partitionsDroppedByOthersAreSkipped() throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    for second in [-100 * Rows.day, -99 * Rows.day] {
      _ = try store.store(Rows.of([Rows.location(1, at: second)], at: second))
    }
    let connection = try PostgreSQLConnection(server.url)
    var isFirst = true
    let dropped = try PostgreSQLExpiry.dropPartitions(before: try #require(Day(text: "2026-11-01"))) {
      sql throws(PostgreSQLError) in
      if sql.contains("DROP TABLE"), isFirst {
        isFirst = false
        let other = try PostgreSQLConnection(server.url)
        let name = sql.split(separator: "DROP TABLE ").last?.prefix { $0 != ";" } ?? ""
        try other.run("DROP TABLE \(name)")
      }
      return try connection.run(sql).values
    }
    #expect(!isFirst && dropped.dropped == 3 && dropped.problem == nil)
    #expect(
      try store.expire(
        before: try #require(Day(text: "2026-11-01")), today: try #require(Day(text: "2026-11-21"))
      ).partitions == 0)
  }
}
