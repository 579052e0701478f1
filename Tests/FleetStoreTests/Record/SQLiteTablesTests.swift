import FleetFixtures
import FleetStore
import SQLite
import Spatial
import TestSupport
import Testing

/// The newest positions, cells and retention in SQLite.
@Suite struct SQLiteTablesTests {
  private typealias Rows = RecordedRows

  private func opened(_ directory: TemporaryDirectory) throws -> (SQLiteStore, SQLiteReader) {
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    return (store, try SQLiteReader(path))
  }

  @Test func latestIsTheNewestByTheVehiclesClock() throws {
    let directory = try TemporaryDirectory()
    let (store, reader) = try opened(directory)
    let newest = "SELECT vehicle, latitude, source FROM latest"
    _ = try store.store(Rows.of([Rows.location(2, at: 20, latitude: 50), Rows.location(1, at: 10)]))
    _ = try store.store(Rows.of([Rows.location(3, at: 15, latitude: 49)]))
    #expect(try reader.rows(newest) == [["van", "50.0", "location"]])
    _ = try store.store(Rows.of([Rows.track(4, at: 30, latitudes: [51, 52])]))
    _ = try store.store(Rows.of([Rows.location(5, at: 3 * Rows.day, latitude: 1)]))
    #expect(try reader.rows(newest) == [["van", "52.0", "track"]])
    #expect(
      try reader.rows("SELECT altitude, speed FROM positions WHERE source = 'track'")
        == [["520.5", "13.37"], ["520.5", "13.37"]])
  }

  /// A clock that was two hours ahead does not freeze the vehicle for two hours.
  @Test func latestFollowsAClockThatWasSetBack() throws {
    for isOneBatch in [false, true] {
      let directory = try TemporaryDirectory()
      let (store, reader) = try opened(directory)
      let batches = LatestCases.clockSetBack
      if isOneBatch {
        _ = try store.store(Array(batches.joined()))
      } else {
        for batch in batches { _ = try store.store(batch) }
      }
      #expect(try reader.rows("SELECT latitude FROM latest") == [["52.0"]], "one batch: \(isOneBatch)")
    }
  }

  /// Coarse and suspect positions are in every view, where their source distinguishes them from fixes, also after a migration.
  @Test func coarseAndSuspectPositionsAreNoFixes() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let former = try Database(path: path, access: .create)
    for step in SQLiteSchema.steps.prefix(3) { try former.execute(step) }
    try former.execute("PRAGMA application_id = \(SQLiteSchema.applicationID); PRAGMA user_version = 3;")
    let store = SQLiteStore(path: path)
    try store.open()
    let reader = try SQLiteReader(path)
    _ = try store.store(Rows.of([Rows.location(1, at: 10), Rows.coarse(2, at: 20, latitude: 48.5)]))
    _ = try store.store(Rows.of([Rows.suspect(3, at: 30, latitude: 48.75)]))
    let said = [["48.0", "location"], ["48.5", "coarse"], ["48.75", "suspect"]]
    #expect(try reader.rows("SELECT latitude, source FROM positions ORDER BY time") == said)
    #expect(
      try reader.rows(
        "SELECT latitude, source FROM positions_by_place WHERE north >= 48 AND south <= 49 ORDER BY time")
        == said)
    #expect(try reader.rows("SELECT latitude, source FROM latest") == [["48.75", "suspect"]])
  }

  /// Version 6 stored suspect positions as fixes.
  @Test func theMigrationMarksSuspectPositions() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    var store = SQLiteStore(path: path)
    try store.open()
    _ = try store.store(
      Rows.of([
        Rows.location(1, at: 10), Rows.suspect(2, at: 20, latitude: 49), Rows.coarse(3, at: 30, latitude: 50),
        ("van/location/event", #"{"event":"suspect","suspect":"jump","time":"\#(wireTime(40))"}"#),
      ]))
    store.close()
    let reader = try SQLiteReader(path)
    try reader.run("UPDATE messages SET event = NULL WHERE event = 'suspect' AND kind = 'location'")
    try reader.run("PRAGMA user_version = 6")
    store = SQLiteStore(path: path)
    try store.open()
    defer { store.close() }
    #expect(
      try reader.rows("SELECT latitude, source FROM positions ORDER BY time")
        == [["48.0", "location"], ["49.0", "suspect"], ["50.0", "coarse"]])
    #expect(try reader.rows("PRAGMA user_version") == [["\(SQLiteSchema.steps.count)"]])
  }

  /// A drive needs an entry for each cell and ten minutes, not for each position; repeated messages need none.
  @Test func aDriveNeedsFewEntries() throws {
    let directory = try TemporaryDirectory()
    let (store, reader) = try opened(directory)
    // 600 s from the start of a slot, half a cell.
    let drive = (0..<600).map {
      Rows.location($0 + 1, at: Double($0), latitude: 48.001 + Double($0) * 1.6e-5)
    }
    for _ in 0..<2 { _ = try store.store(Rows.of(drive)) }
    #expect(try reader.rows("SELECT count(*) FROM visits") == [["1"]])
    store.close()
    try store.open()
    _ = try store.store(Rows.of([Rows.location(700, at: 599.5, latitude: 48.005)]))
    #expect(try reader.rows("SELECT count(*) FROM visits") == [["1"]])
    #expect(try reader.rows("SELECT count(*) FROM places") == [["1"]])
    #expect(
      try reader.rows("SELECT count(*) FROM positions_by_place WHERE south <= 48.01 AND north >= 48") == [
        ["601"]
      ])
  }

  @Test func aRecordingOfVersionTwoGetsLatestAndPlaces() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let former = try Database(path: path, access: .create)
    for step in SQLiteSchema.steps.prefix(2) { try former.execute(step) }
    try former.execute(
      """
      PRAGMA application_id = \(SQLiteSchema.applicationID); PRAGMA user_version = 2;
      INSERT INTO messages (received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, latitude, longitude, payload)
        VALUES (\(noon.milliseconds), \(noon.milliseconds), 't', 'demo', 'van', 'location', 1, 0, 'e', 1, 48.5, 11, '{}'),
          (\(noon.milliseconds), \(noon.milliseconds - 5000), 't', 'demo', 'van', 'location', 1, 0, 'e', 2, 49.5, 11, '{}'),
          (\(noon.milliseconds), 99999999999999, 't', 'demo', 'van', 'location', 1, 0, 'e', 3, 1, 1, '{}');
      INSERT INTO fixes (fleet, vehicle, time, latitude, longitude, place)
        VALUES ('demo', 'car', \(noon.milliseconds), 50.5, 11, 0);
      """)
    let store = SQLiteStore(path: path)
    try store.open()
    let reader = try SQLiteReader(path)
    #expect(
      try reader.rows("SELECT vehicle, latitude, time, source FROM latest ORDER BY 1") == [
        ["car", "50.5", "\(noon.milliseconds)", "track"],
        ["van", "48.5", "\(noon.milliseconds)", "location"],
      ])
    #expect(
      try reader.rows("SELECT vehicle, latitude FROM positions_by_place WHERE north >= 48 ORDER BY 2")
        == [["van", "48.5"], ["van", "49.5"], ["car", "50.5"]])
    // A repeated position adds no entry.
    _ = try store.store(Rows.of([Rows.location(9, at: 0, latitude: 48.5, longitude: 11)]))
    #expect(try reader.rows("SELECT count(*) FROM visits") == [["4"]])
    #expect(try reader.rows("SELECT count(*) FROM places") == [["4"]])
  }

  @Test func oldDataIsDeleted() throws {
    let directory = try TemporaryDirectory()
    let (store, reader) = try opened(directory)
    let old = [
      Rows.location(1, at: -100 * Rows.day), Rows.location("gone", 1, at: -95 * Rows.day),
      Rows.track(2, at: -95 * Rows.day, latitudes: [48]), ("van/motion", #"{"epoch":"e","seq":3}"#),
      Rows.location(4, at: -20_000 * Rows.day), Rows.location(8, at: 40_000 * Rows.day),
    ]
    _ = try store.store(Rows.of(old, at: -95 * Rows.day))
    let many = (0..<6000).map { Rows.location("bus", $0, at: -92 * Rows.day + Double($0)) }
    _ = try store.store(Rows.of(many))
    _ = try store.store(Rows.of([Rows.location(5, at: 0), Rows.location(6, at: -89 * Rows.day)]))
    _ = try store.store(Rows.of([Rows.location("lost", 1, at: -20_001 * Rows.day)]))
    let limit = try #require(Day(text: "2026-08-23"))
    let today = try #require(Day(text: "2026-11-21"))
    #expect(try store.expire(before: limit, today: today).rows == 6006 + 1)
    #expect(
      try reader.rows("SELECT vehicle, seq FROM messages ORDER BY vehicle, seq")
        == [["lost", "1"], ["van", "5"], ["van", "6"]])
    #expect(try reader.rows("SELECT vehicle FROM latest ORDER BY 1") == [["lost"], ["van"]])
    #expect(try reader.rows("SELECT count(*) FROM fixes") == [["0"]])
    #expect(try reader.rows("SELECT vehicle FROM visits ORDER BY 1") == [["lost"], ["van"], ["van"]])
    let cells = try reader.rows("SELECT DISTINCT cell FROM visits ORDER BY 1")
    #expect(try reader.rows("SELECT id FROM places ORDER BY 1") == cells)
    #expect(try store.expire(before: limit, today: today) == StoreExpiry())
    // A late message from that time is found again.
    _ = try store.store(Rows.of([Rows.location("bus", 7000, at: -92 * Rows.day + 5999)]))
    #expect(try reader.rows("SELECT count(*) FROM positions_by_place WHERE vehicle = 'bus'") == [["1"]])
  }

  @Test func retentionIsCheckedEveryHour() {
    var retention = Retention(days: 90)
    let first = retention.due(at: noon)
    #expect(first?.limit == Day(text: "2026-08-23") && first?.today == Day(text: "2026-11-21"))
    // A clock that is set back does not delay it.
    let due = [3599, 3600, -86_400].map { retention.due(at: noon.advanced(bySeconds: $0)) != nil }
    #expect(due == [false, true, true])
    var none = Retention(days: nil)
    let never = none.due(at: noon)
    #expect(never == nil)
  }
}
