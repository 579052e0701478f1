import Fleet
import FleetFixtures
import FleetStore
import Foundation
import Platform
import TestSupport
import Testing

/// Partitions, the newest positions, identity and retention in a real PostgreSQL.
@Suite struct PostgreSQLTablesTests {
  private typealias Rows = RecordedRows

  private func store(_ server: PostgreSQLFixture, keep: Int? = nil) throws -> PostgreSQLStore {
    let store = PostgreSQLStore(address: server.url, partitioned: PartitionedDays(keep: keep))
    try store.open()
    return store
  }

  private func partitions(_ server: PostgreSQLFixture) throws -> [String] {
    try server.query(
      "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r' ORDER BY 1"
    ).map { $0[0] }
  }

  @Test(.needs(.postgreSQL)) func latestIsTheNewestByTheVehiclesClock() throws {
    let server = try PostgreSQLFixture()
    let store = try store(server)
    let newest =
      "SELECT vehicle, latitude, extract(epoch FROM time - '2026-11-21 12:00Z'), source FROM odograph.latest"
    _ = try store.store(Rows.of([Rows.location(2, at: 20, latitude: 50), Rows.location(1, at: 10)]))
    #expect(try server.query(newest) == [["van", "50", "20.000000", "location"]])
    // Late by seconds and by a month: stored, but not the newest.
    let month = Rows.location(4, at: -30 * Rows.day, latitude: 1)
    _ = try store.store(Rows.of([Rows.location(3, at: 15, latitude: 49), month]))
    #expect(try server.query(newest) == [["van", "50", "20.000000", "location"]])
    _ = try store.store(Rows.of([Rows.track(5, at: 30, latitudes: [51, 52])]))
    #expect(try server.query(newest) == [["van", "52", "31.000000", "track"]])
    #expect(
      try server.query("SELECT altitude, accuracy, speed FROM odograph.latest") == [
        ["520.5", "2.5", "13.37"]
      ])
    // A clock that is years ahead does not freeze the vehicle; a stored message arrives again.
    let ahead = Rows.location(6, at: 40_000 * Rows.day, latitude: 1)
    _ = try store.store(Rows.of([ahead, Rows.location(2, at: 20, latitude: 50)]))
    #expect(try server.query(newest) == [["van", "52", "31.000000", "track"]])
    #expect(try server.query("SELECT count(*) FROM odograph.messages WHERE kind = 'location'") == [["5"]])
    // The first of two positions with the same time is used.
    let twins = [Rows.location("twin", 1, at: 5, latitude: 7), Rows.location("twin", 2, at: 5, latitude: 8)]
    for _ in 0..<2 { _ = try store.store(Rows.of(twins)) }
    #expect(try server.query("SELECT latitude FROM odograph.latest WHERE vehicle = 'twin'") == [["7"]])
    _ = try server.query("DELETE FROM odograph.latest WHERE vehicle = 'twin'")
    // Names with a meaning in SQL.
    let names = [#"a"b"#, #"c\d"#, "{e,f}", "NULL", "ü'"]
    _ = try store.store(Rows.of(names.enumerated().map { Rows.location($1, 1, at: Double($0)) }))
    #expect(
      Set(try server.query("SELECT vehicle FROM odograph.latest").map { $0[0] }) == Set(names + ["van"]))
  }

  @Test(.needs(.postgreSQL)) func latestFollowsAClockThatWasSetBack() throws {
    let server = try PostgreSQLFixture()
    let store = try store(server)
    let batches = LatestCases.clockSetBack
    for batch in batches { _ = try store.store(batch) }
    #expect(try server.query("SELECT latitude FROM odograph.latest") == [["52"]])
    _ = try server.query("TRUNCATE odograph.latest, odograph.messages")
    _ = try store.store(Array(batches.joined()))
    #expect(try server.query("SELECT latitude FROM odograph.latest") == [["52"]])
  }

  @Test(.needs(.postgreSQL)) func aQueryReadsTheDaysThatItAsksFor() throws {
    let server = try PostgreSQLFixture()
    let store = try store(server)
    let days = [0, -1, -30, -399, -401, 1, 3, -20_000, 40_000]
    _ = try store.store(Rows.of(days.enumerated().map { Rows.location($0 + 1, at: Double($1) * Rows.day) }))
    _ = try store.store(Rows.of([("van/motion", #"{"epoch":"e","seq":99}"#)]))
    #expect(
      try partitions(server).filter { $0.hasPrefix("messages") } == [
        "messages_20251018", "messages_20261022", "messages_20261120", "messages_20261121",
        "messages_20261122",
        "messages_default",
      ])
    #expect(try server.query("SELECT count(*) FROM odograph.messages_default") == [["5"]])
    // And the hours within a day.
    #expect(
      try server.query(
        "SELECT tablename FROM pg_indexes WHERE tablename LIKE '%_20261121' AND indexdef LIKE '%USING brin%' ORDER BY 1"
      ) == [["fixes_20261121"], ["messages_20261121"]])
    let plan = try server.query(
      """
      EXPLAIN SELECT * FROM odograph.positions
        WHERE vehicle = 'van' AND time >= '2026-11-21 00:00Z' AND time < '2026-11-22 00:00Z'
      """
    ).map { $0[0] }.joined()
    #expect(plan.contains("messages_20261121") && plan.contains("fixes_20261121"), "\(plan)")
    #expect(!plan.contains("messages_20261120") && !plan.contains("default"), "\(plan)")
    #expect(
      try server.query("SELECT latitude FROM odograph.positions WHERE time > now() + interval '30 years'")
        == [["48"]])
  }

  @Test(.needs(.postgreSQL)) func aMessageIsStoredOnceByAllRecorders() throws {
    let server = try PostgreSQLFixture()
    let store = try store(server)
    let all = Rows.of([
      Rows.location(1, at: 0), Rows.track(2, at: 10, latitudes: [48, 49]),
      ("van/motion", #"{"epoch":"e","seq":3}"#),
      Rows.location(4, at: 40_000 * Rows.day),
      ("van/heading", #"{"time":"2026-11-21T12:00:00.000Z","heading":1}"#),
    ])
    #expect(try store.store(all + [all[0], all[1]]) == 5)
    for _ in 0..<2 { #expect(try store.store(all) == 0) }
    #expect(try server.query("SELECT count(*) FROM odograph.fixes") == [["2"]])
    #expect(
      try server.query("SELECT altitude, speed FROM odograph.positions WHERE source = 'track'")
        == [["520.5", "13.37"], ["520.5", "13.37"]])
    for seq in ["seq = 1", "seq = 3", "seq = 4", "seq IS NULL"] {
      let copy = "INSERT INTO odograph.messages SELECT * FROM odograph.messages WHERE \(seq)"
      #expect { try server.query(copy) } throws: { "\($0)".contains("duplicate key") }
    }
  }

  /// Recorders that get the same days and the same vehicles for the first time simultaneously.
  @Test(.needs(.postgreSQL)) func simultaneousRecordersWaitForEachOther() async throws {
    let server = try PostgreSQLFixture()
    let url = server.url
    let added = try await withThrowingTaskGroup(of: Int.self) { group in
      for recorder in 0..<3 {
        group.addTask {
          let store = PostgreSQLStore(address: url)
          var added = 0
          for day in 0..<12 {
            let vehicles = (0..<20).map { vehicle in
              Rows.location("van-\((vehicle * (recorder + 1)) % 20)", day + 1, at: Double(-day) * Rows.day)
            }
            // A recorder retries a batch that failed, for example by a deadlock.
            var attempts = 0
            while true {
              do {
                added += try store.store(Rows.of(vehicles))
                break
              } catch {
                attempts += 1
                if attempts > 5 { throw error }
              }
            }
          }
          return added
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(added == 240)
    #expect(
      try server.query("SELECT count(*), count(DISTINCT time) FROM odograph.messages") == [["240", "12"]])
    #expect(try server.query("SELECT count(*), min(time) = max(time) FROM odograph.latest") == [["20", "t"]])
    #expect(try partitions(server).count == 2 * 13)
  }

  @Test(.needs(.postgreSQL)) func oldDataIsDeletedByPartitions() throws {
    let server = try PostgreSQLFixture()
    let store = try store(server, keep: 90)
    let old = Rows.of(
      [
        Rows.location(1, at: -100 * Rows.day), Rows.location("gone", 1, at: -95 * Rows.day),
        Rows.track(2, at: -95 * Rows.day, latitudes: [48]), ("van/motion", #"{"epoch":"e","seq":3}"#),
        Rows.location(4, at: -20_000 * Rows.day),
      ], at: -95 * Rows.day)
    _ = try store.store(old)
    // Older than the retention at its arrival: no partition is created.
    let late = Rows.location(7, at: -91 * Rows.day)
    _ = try store.store(Rows.of([Rows.location(5, at: 0), Rows.location(6, at: -89 * Rows.day), late]))
    _ = try store.store(Rows.of([Rows.location("lost", 1, at: -20_001 * Rows.day)]))
    let limit = try #require(Day(text: "2026-08-23"))
    let today = try #require(Day(text: "2026-11-21"))
    let expiry = try store.expire(before: limit, today: today)
    #expect(expiry == StoreExpiry(partitions: 4, rows: 4))
    #expect(
      try server.query("SELECT vehicle, seq FROM odograph.messages ORDER BY vehicle, seq")
        == [["lost", "1"], ["van", "5"], ["van", "6"]])
    #expect(try server.query("SELECT vehicle FROM odograph.latest ORDER BY 1") == [["lost"], ["van"]])
    #expect(try server.query("SELECT count(*) FROM odograph.fixes") == [["0"]])
    #expect(try partitions(server).filter { $0.contains("2026") }.allSatisfy { $0.suffix(8) >= "20260823" })
    #expect(try store.expire(before: limit, today: today) == StoreExpiry())
  }

  /// A partition that a third-party view depends on stays and is reported; the others are deleted.
  @Test(.needs(.postgreSQL)) func partitionsThatCannotBeDroppedDoNotBlockOthers() throws {
    let server = try PostgreSQLFixture()
    let store = try store(server, keep: 90)
    for days in [-99.0, -98, -97] {
      let time = days * Rows.day
      _ = try store.store(Rows.of([Rows.location(Int(-days), at: time)], at: time))
    }
    let oldest = try #require(try partitions(server).first { $0.hasPrefix("messages_2026") })
    _ = try server.query("CREATE VIEW kept AS SELECT topic FROM odograph.\(oldest)")
    let limit = try #require(Day(text: "2026-08-23"))
    let today = try #require(Day(text: "2026-11-21"))
    let error = #expect(throws: FleetError.self) { try store.expire(before: limit, today: today) }
    #expect(error?.description.contains(oldest) == true, "\(String(describing: error))")
    #expect(try server.query("SELECT count(*) FROM odograph.messages") == [["1"]])
    _ = try server.query("DROP VIEW kept")
    #expect(try store.expire(before: limit, today: today).partitions == 1)
  }

  /// A server with a full disk refuses with this code; here a trigger raises it.
  @Test(.needs(.postgreSQL)) func aFullDiskIsReportedAndBatchesAreAtomic() throws {
    let server = try PostgreSQLFixture()
    let store = try store(server)
    _ = try server.query(
      """
      CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'could not extend file: No space left on device'; END $$;
      CREATE TRIGGER full_disk BEFORE INSERT ON odograph.latest EXECUTE FUNCTION full_disk();
      """)
    let rows = Rows.of([Rows.location(1, at: 0)])
    #expect { try store.store(rows) } throws: {
      "\($0)".contains(
        "No space left on device; free space on the server's disk, or retain fewer days with --keep")
    }
    #expect(try server.query("SELECT count(*) FROM odograph.messages") == [["0"]])
    _ = try server.query("DROP TRIGGER full_disk ON odograph.latest")
    #expect(try store.store(rows) == 1)
  }
}
