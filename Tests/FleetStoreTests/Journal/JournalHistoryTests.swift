import FleetFixtures
import FleetStore
import SQLite
import Spatial
import Telemetry
import TestSupport
import Testing

/// Trips and driving events of recordings that had no tables for them, and deletion of old ones.
@Suite struct JournalHistoryTests {
  private typealias Rows = RecordedRows
  private typealias Entry = JournalMessages

  private let told = [
    Entry.trip(1, revision: 2, phase: .ended), Entry.trip(1, revision: 1, phase: .started),
    Entry.trip(2, revision: 1, phase: .underway, start: 3600), Entry.event(1, ongoing: true), Entry.event(1),
    ("van/trip", #"{"number":3,"time":"2026-11-21T12:00:00.000Z"}"#),
    ("van/motion", #"{"epoch":"e","seq":99}"#),
  ]

  @Test func aRecordingOfVersionFourGetsItsTripsInSQLite() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    _ = try store.store(Rows.of(told))
    store.close()
    let reader = try SQLiteReader(path)
    let (trips, events) = ("SELECT * FROM trips ORDER BY number", "SELECT * FROM driving_events")
    let before = try (reader.rows(trips), reader.rows(events))
    #expect(before.0.count == 2 && before.1.count == 1)
    // The state of version 4.
    for sql in ["DROP TABLE trips", "DROP TABLE driving_events", "PRAGMA user_version = 4"] {
      try reader.run(sql)
    }
    #expect { try readTrips(path) } throws: { "\($0)".contains("odograph record --prepare") }
    try store.open()
    #expect(try reader.rows(trips) == before.0 && reader.rows(events) == before.1)
    #expect(try reader.rows("PRAGMA user_version") == [["\(SQLiteSchema.steps.count)"]])
    // Repeated messages are not stored again.
    #expect(try store.store(Rows.of(told)) == 0)
    #expect(try reader.rows(trips) == before.0)
    store.close()
  }

  private func readTrips(_ path: String) throws {
    try RecordingAddress.open(path).readTrips(TripSelection()) { _ in true }
  }

  @Test(.needs(.postgreSQL), arguments: [false, true])
  func aRecordingOfVersionFourGetsItsTripsInPostgreSQL(wasInterrupted: Bool) throws {
    let server = try PostgreSQLFixture()
    var store = PostgreSQLStore(address: server.url)
    try store.open()
    _ = try store.store(Rows.of(told))
    let (trips, events) = (
      "SELECT * FROM odograph.trips ORDER BY number", "SELECT * FROM odograph.driving_events"
    )
    let before = try (server.query(trips), server.query(events))
    #expect(before.0.count == 2 && before.1.count == 1)
    store.close()
    // The tables may exist already, after a migration that was interrupted.
    _ = try server.query(
      (wasInterrupted
        ? "DELETE FROM odograph.driving_events;" : "DROP TABLE odograph.trips, odograph.driving_events;")
        + "UPDATE odograph.schema_version SET version = 4")
    var said: [String] = []
    store = PostgreSQLStore(address: server.url) { said.append($0) }
    try store.open()
    #expect(said.isEmpty)
    #expect(try server.query(trips) == before.0 && server.query(events) == before.1)
    #expect(
      try server.query("SELECT version FROM odograph.schema_version") == [["\(SQLiteSchema.steps.count)"]])
    #expect(try store.store(Rows.of(told)) == 0)
  }

  @Test(.needs(.postgreSQL)) func oldEntriesAreDeleted() throws {
    let directory = try TemporaryDirectory()
    let server = try PostgreSQLFixture()
    let path = directory.file("fleet.sqlite")
    let limit = try #require(Day(text: "2026-08-23"))
    let today = try #require(Day(text: "2026-11-21"))
    // The limit is 90.5 days before noon of today; a trip lasts ten minutes.
    let edge = -90 * Rows.day - 0.5 * Rows.day
    let old = Rows.of(
      [
        Entry.trip(1, start: -100 * Rows.day), Entry.trip(2, start: edge - 601),
        Entry.trip(3, start: edge - 300),
        Entry.trip(4, start: -20_000 * Rows.day), Entry.trip(5, start: 40_000 * Rows.day),
        Entry.event(1, at: edge - 1), Entry.event(2, at: edge),
      ], at: -95 * Rows.day)
    let new = Rows.of([
      Entry.trip(6), Entry.trip(7, start: -20_001 * Rows.day), Entry.event(3),
      Entry.event(4, at: 40_000 * Rows.day),
    ])
    // A trip across the limit, which was reported after it.
    let over = Rows.of([Entry.trip(8, start: edge - 300)])
    for store in [SQLiteStore(path: path), PostgreSQLStore(address: server.url)] as [any MessageStore] {
      try store.open()
      _ = try store.store(old)
      _ = try store.store(new + over)
      _ = try store.expire(before: limit, today: today)
      #expect(try store.expire(before: limit, today: today) == StoreExpiry())
      store.close()
    }
    let reader = try SQLiteReader(path)
    for (table, left) in [("trips", ["6", "7", "8"]), ("driving_events", ["2", "3", "4"])] {
      #expect(try reader.rows("SELECT number FROM \(table) ORDER BY number").map { $0[0] } == left)
      #expect(
        try server.query("SELECT number FROM odograph.\(table) ORDER BY number").map { $0[0] } == left)
    }
  }

  /// The distance of a trip under way includes neither suspect nor coarse nor inaccurate positions.
  @Test func aJumpIsNotDriven() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    defer { store.close() }
    let inaccurate = Rows.location(503, at: 3800, latitude: 51)
    _ = try store.store(
      Rows.of([
        Entry.trip(1, phase: .underway, distance: 10_000), Rows.location(500, at: 3600, latitude: 48.25),
        Rows.suspect(501, at: 3650, latitude: 55), Rows.coarse(502, at: 3700, latitude: 49),
        (inaccurate.0, inaccurate.1.dropLast() + #","horizontalAccuracy":1900000}"#),
        Rows.location(504, at: 3900, latitude: 48.26),
      ]))
    let recording = try RecordingAddress.open(path)
    let continuations = try recording.continuations(TripSelection(), at: noon.advanced(bySeconds: 7200))
    let end = try #require(continuations.values.first?.values.first)
    // The first position is at most 20 km from the end of the trip's last message.
    #expect((1000...25_000).contains(end.distance) && end.end == noon.advanced(bySeconds: 3900))
  }

  /// A trip whose end was never received does not include the positions of later trips.
  @Test func aLaterTripEndsTheOneBefore() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    defer { store.close() }
    let positions = (0...6).map {
      Rows.location(500 + $0, at: 3600 + Double($0) * 100, latitude: 48.25 + Double($0) * 0.03)
    }
    _ = try store.store(Rows.of([Entry.trip(1, phase: .underway, distance: 10_000)] + positions))
    let recording = try RecordingAddress.open(path)
    let now = noon.advanced(bySeconds: 7200)
    var all = TripSelection()
    let first = JournalNumber(series: Entry.series, number: 1)
    let before = try recording.continuations(all, at: now).values.first
    #expect(before?[first].map { $0.distance > 20_000 } == true)
    #expect(before?[first]?.end == noon.advanced(bySeconds: 3600 + 600))
    _ = try store.store(Rows.of([Entry.trip(2, start: 3600, distance: 20_000)]))
    #expect(try recording.continuations(all, at: now).isEmpty)
    // The later trip counts even if it is not selected.
    all.number = 1
    #expect(try recording.continuations(all, at: now).isEmpty)
  }
}
