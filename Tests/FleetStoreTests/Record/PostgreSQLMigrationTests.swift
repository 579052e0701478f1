import FleetFixtures
import FleetStore
import TestSupport
import Testing

/// Databases of earlier versions are migrated without loss.
@Suite struct PostgreSQLMigrationTests {
  @Test(.needs(.postgreSQL)) func versionTwoIsMigrated() throws {
    let server = try PostgreSQLFixture()
    _ = try server.query(FormerPostgreSQL.versionTwo() + FormerPostgreSQL.rows)
    _ = try server.query(
      "CREATE ROLE reader; GRANT SELECT ON odograph.messages, odograph.positions, odograph.schema_version "
        + "TO reader; "
        + "GRANT USAGE ON SCHEMA odograph TO reader")
    let columns =
      "received, time, topic, vehicle, kind, epoch, seq, hash, latitude, speed, payload, payload_binary"
    let before = try server.query("SELECT \(columns) FROM odograph.messages ORDER BY seq")
    // It can be read before the migration.
    let recording = PostgreSQLRecording(address: server.url)
    try recording.open()
    #expect(try recording.countPositions(.init()) == 6)
    var count = 0
    try recording.readPositions(.init()) { _ in
      count += 1
      return true
    }
    #expect(count == 6)
    var said: [String] = []
    let store = PostgreSQLStore(address: server.url) { said.append($0) }
    try store.open()
    #expect(said.count == 1 && said.allSatisfy { $0.contains("of an older version") })
    #expect(try server.query("SELECT \(columns) FROM odograph.messages ORDER BY seq") == before)
    #expect(
      try server.query("SELECT version FROM odograph.schema_version") == [["\(SQLiteSchema.steps.count)"]])
    #expect(try server.query("SELECT count(*) FROM odograph.messages_20261121") == [["3"]])
    #expect(try server.query("SELECT count(*) FROM odograph.fixes_20261121") == [["2"]])
    #expect(
      try server.query("SELECT vehicle, latitude, source FROM odograph.latest") == [["van", "51", "track"]])
    #expect(try server.query("SELECT to_regnamespace('odograph_before') IS NULL") == [["t"]])
    #expect(
      try server.query("SET ROLE reader; SELECT count(*) FROM odograph.positions, odograph.messages LIMIT 1")
        == [
          ["36"]
        ])
    #expect(
      try server.query("SET ROLE reader; SELECT version FROM odograph.schema_version")
        == [["\(SQLiteSchema.steps.count)"]])
    // Messages that are stored already are recognized.
    #expect(try store.store(RecordedRows.of([("van/motion", #"{"epoch":"e","seq":5}"#)])) == 0)
  }

  @Test(.needs(.postgreSQL)) func dependentViewsStopTheMigrationWithoutLoss() throws {
    let server = try PostgreSQLFixture()
    _ = try server.query(FormerPostgreSQL.versionTwo() + FormerPostgreSQL.rows)
    _ = try server.query("CREATE VIEW mine AS SELECT topic FROM odograph.messages")
    let store = PostgreSQLStore(address: server.url)
    #expect { try store.open() } throws: { "\($0)".contains("view mine depends on") }
    #expect(try server.query("SELECT version FROM odograph.schema_version") == [["2"]])
    #expect(try server.query("SELECT count(*) FROM mine") == [["6"]])
    #expect(try server.query("SELECT count(*) FROM odograph.fixes") == [["2"]])
    _ = try server.query("DROP VIEW mine")
    try store.open()
    #expect(try server.query("SELECT count(*) FROM odograph.messages") == [["6"]])
  }

  @Test(.needs(.postgreSQL)) func versionOneIsMigrated() throws {
    let server = try PostgreSQLFixture()
    _ = try server.query(FormerPostgreSQL.versionTwo() + FormerPostgreSQL.rows)
    _ = try server.query(
      """
      DROP INDEX odograph.messages_identity, odograph.messages_timeless;
      CREATE UNIQUE INDEX messages_identity ON odograph.messages (vehicle, fleet, epoch, seq, day)
        WHERE epoch IS NOT NULL;
      CREATE INDEX messages_time ON odograph.messages (vehicle, fleet, time);
      UPDATE odograph.schema_version SET version = 1
      """)
    try PostgreSQLStore(address: server.url).open()
    #expect(
      try server.query("SELECT version FROM odograph.schema_version") == [["\(SQLiteSchema.steps.count)"]])
    #expect(try server.query("SELECT count(*) FROM odograph.messages") == [["6"]])
  }

  /// The migration from version 3 only replaces the views, with and without PostGIS, and copies nothing.
  @Test(.needs(.postgreSQL)) func versionThreeGetsItsViews() throws {
    let server = try PostgreSQLFixture()
    try PostgreSQLStore(address: server.url).open()
    _ = try server.query(
      """
      CREATE OR REPLACE VIEW odograph.positions AS
        SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course, 'location' AS source, altitude
          FROM odograph.messages WHERE kind = 'location' AND latitude IS NOT NULL
        UNION ALL
        SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, NULL, 'track', altitude FROM odograph.fixes;
      CREATE VIEW mine AS SELECT source FROM odograph.positions;
      UPDATE odograph.schema_version SET version = 3
      """)
    var said: [String] = []
    let store = PostgreSQLStore(address: server.url) { said.append($0) }
    try store.open()
    #expect(said.isEmpty)
    #expect(
      try server.query("SELECT version FROM odograph.schema_version") == [["\(SQLiteSchema.steps.count)"]])
    let rows = [
      RecordedRows.location(1, at: 10), RecordedRows.coarse(2, at: 20, latitude: 48.5),
      RecordedRows.suspect(3, at: 15, latitude: 49),
    ]
    _ = try store.store(RecordedRows.of(rows))
    #expect(
      try server.query("SELECT source FROM mine ORDER BY 1") == [["coarse"], ["location"], ["suspect"]])
    #expect(try server.query("SELECT latitude, source FROM odograph.latest") == [["48.5", "coarse"]])
    #expect(
      try server.query(
        "SELECT source FROM odograph.near(48.5, 11.5, 500, '2026-11-21 00:00Z', '2026-11-22 00:00Z')")
        == [["coarse"]])
  }

  /// Version 6 stored suspect positions as fixes. An interrupted creation of the index of traces is continued.
  @Test(.needs(.postgreSQL), arguments: [5, 6]) func suspectPositionsAreMarked(version: Int) throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    try store.open()
    let rows = [RecordedRows.location(1, at: 10), RecordedRows.suspect(2, at: 20, latitude: 49)]
    _ = try store.store(RecordedRows.of(rows))
    store.close()
    _ = try server.query(
      """
      UPDATE odograph.messages SET event = NULL;
      UPDATE odograph.schema_version SET version = \(version)
      """)
    try PostgreSQLStore(address: server.url).open()
    #expect(
      try server.query("SELECT latitude, source FROM odograph.positions ORDER BY time")
        == [["48", "location"], ["49", "suspect"]])
    #expect(
      try server.query("SELECT version FROM odograph.schema_version") == [["\(SQLiteSchema.steps.count)"]])
  }

  /// `--quiet` suppresses the message about the migration, too.
  @Test(.needs(.postgreSQL), arguments: [true, false]) func quietIsQuiet(isQuiet: Bool) throws {
    let server = try PostgreSQLFixture()
    _ = try server.query(FormerPostgreSQL.versionTwo() + FormerPostgreSQL.rows)
    let prepare = try ChildProcess(
      BuiltProduct.path("odograph"), ["record", server.url, "--prepare"] + (isQuiet ? ["--quiet"] : []))
    #expect(prepare.waitForExit() == 0)
    #expect(
      try server.query("SELECT version FROM odograph.schema_version") == [["\(SQLiteSchema.steps.count)"]])
    #expect(prepare.output.contains("of an older version") == !isQuiet, "\(prepare.output)")
    #expect(!isQuiet || !prepare.output.contains("up to date"), "\(prepare.output)")
  }
}
