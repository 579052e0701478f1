import Fleet
import FleetFixtures
import FleetStore
import Foundation
import Spatial
import TestSupport
import Testing

/// Positions around a point: PostgreSQL with and without PostGIS and SQLite with its R*Tree agree with computed distances.
@Suite struct NearTests {
  private struct Question {
    var latitude: Double
    var longitude: Double
    var metres: Double
  }

  private let questions = [
    Question(latitude: 48.137, longitude: 11.575, metres: 500),
    Question(latitude: 48.137, longitude: 11.575, metres: 5000),
    // Across the antimeridian, and around the pole.
    Question(latitude: -17, longitude: 179.999, metres: 500),
    Question(latitude: -17, longitude: -179.999, metres: 500),
    Question(latitude: 89.999, longitude: 0, metres: 500),
  ]

  /// Positions around each of the points, one per vehicle, up to twice the requested distance.
  private func positions() -> [(name: String, coordinate: Coordinate)] {
    questions.enumerated().flatMap { index, question in
      (0..<40).map { number in
        let metres = question.metres * 2 * Double(number + 1) / 40.5
        let angle = Double(number) * 2.4
        let north = metres * cos(angle) / 111_195
        let latitude = min(90, question.latitude + north)
        let east = metres * sin(angle) / 111_195 / max(1e-9, cos(latitude * .pi / 180))
        var longitude = question.longitude + east
        while longitude >= 180 { longitude -= 360 }
        while longitude < -180 { longitude += 360 }
        return ("\(index)-\(number)", Coordinate(latitude: latitude, longitude: longitude))
      }
    }
  }

  private func distance(_ a: Question, _ b: Coordinate) -> Double {
    let (from, to) = (a.latitude * .pi / 180, b.latitude * .pi / 180)
    let (north, east) = ((to - from) / 2, (b.longitude - a.longitude) * .pi / 360)
    let square = sin(north) * sin(north) + cos(from) * cos(to) * sin(east) * sin(east)
    return 12_742_017.6 * asin(min(1, square).squareRoot())
  }

  private func rows() -> [RecordedMessage] {
    RecordedRows.of(
      positions().enumerated().map { index, one in
        RecordedRows.location(
          one.name, 1, at: Double(index), latitude: one.coordinate.latitude,
          longitude: one.coordinate.longitude)
      })
  }

  private func expected(_ question: Question) -> Set<String> {
    Set(positions().filter { distance(question, $0.coordinate) <= question.metres }.map(\.name))
  }

  private func sql(_ question: Question, _ until: String = "2026-11-22 00:00Z") -> String {
    "FROM odograph.near(\(question.latitude), \(question.longitude), \(question.metres), '2026-11-21 00:00Z', '\(until)')"
  }

  private func check(_ server: PostgreSQLFixture) throws {
    for question in questions {
      let found = try server.query("SELECT vehicle, distance \(sql(question))")
      #expect(Set(found.map { $0[0] }) == expected(question), "\(question)")
      #expect(found.allSatisfy { (Double($0[1]) ?? .infinity) <= question.metres })
      #expect(try server.query("SELECT vehicle \(sql(question, "2026-11-21 00:01Z"))").isEmpty)
    }
  }

  @Test(.needs(.postGIS)) func postgreSQLAgreesWithComputedDistances() throws {
    let server = try PostgreSQLFixture()
    var store = PostgreSQLStore(address: server.url)
    try store.open()
    _ = try store.store(rows() + RecordedRows.of([RecordedRows.track(2, at: 0, latitudes: [10])]))
    #expect(questions.map { expected($0).count }.allSatisfy { (10...60).contains($0) })
    try check(server)
    let advice = try #require(store.advice)
    #expect(advice.contains("has no PostGIS") && advice.contains("CREATE EXTENSION postgis"))
    // The extension is in a schema of its own, which no query names; the next start detects it.
    _ = try server.query("CREATE SCHEMA gis; CREATE EXTENSION postgis SCHEMA gis")
    store = PostgreSQLStore(address: server.url)
    try store.open()
    #expect(store.advice == nil)
    try check(server)
    let plan = try server.query("SET enable_seqscan = off; EXPLAIN SELECT * \(sql(questions[0]))").map {
      $0[0]
    }
    .joined()
    #expect(
      plan.contains("messages_20261121_st_"),
      "\(plan)")
    #expect(!plan.contains("default"), "\(plan)")
    #expect(
      try server.query(
        "SELECT gis.ST_AsText(geometry), gis.ST_Y(point::gis.geometry), speed FROM odograph.points WHERE source = 'track'"
      )
        == [["POINT(11.5 10)", "10", "13.37"]])
    // The partition of a new day has the index. Without the extension, queries still work.
    _ = try store.store(RecordedRows.of([RecordedRows.location(9, at: 86_400)]))
    #expect(
      try server.query("SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'messages_20261122_st_%'") == [
        ["1"]
      ])
    _ = try server.query("SET client_min_messages = error; DROP EXTENSION postgis CASCADE")
    store = PostgreSQLStore(address: server.url)
    try store.open()
    #expect(store.advice != nil)
    try check(server)
  }

  @Test func sqliteAgreesWithComputedDistances() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let store = SQLiteStore(path: path)
    try store.open()
    _ = try store.store(rows())
    store.close()
    let reader = try SQLiteReader(path)
    for question in questions.prefix(2) {
      let (height, width) = (question.metres / 111_195, question.metres / 111_195 / 0.66)
      let found = try reader.rows(
        """
        SELECT vehicle, latitude, longitude FROM positions_by_place
          WHERE north >= \(question.latitude - height) AND south <= \(question.latitude + height)
            AND east >= \(question.longitude - width) AND west <= \(question.longitude + width)
            AND until >= unixepoch('2026-11-21') / 600 AND since <= unixepoch('2026-11-22') / 600
        """)
      let near = found.filter { row in
        let coordinate = Coordinate(
          latitude: row[1].flatMap(Double.init) ?? 0, longitude: row[2].flatMap(Double.init) ?? 0)
        return distance(question, coordinate) <= question.metres
      }
      #expect(Set(near.compactMap { $0[0] }) == expected(question))
      #expect(near.count == expected(question).count)
    }
    let plan = try reader.rows(
      "EXPLAIN QUERY PLAN SELECT * FROM positions_by_place WHERE north >= 48 AND since >= 1"
    )
    .compactMap { $0[3] }
    #expect(plan.contains { $0.contains("VIRTUAL TABLE INDEX") && !$0.hasSuffix("2:") }, "\(plan)")
    #expect(plan.contains { $0.contains("SEARCH visits USING PRIMARY KEY (cell=? AND slot>?)") }, "\(plan)")
    #expect(plan.contains { $0.contains("SEARCH positions USING INDEX messages_identity") }, "\(plan)")
    #expect(plan.contains { $0.contains("SEARCH positions USING INDEX fixes_time") }, "\(plan)")
  }
}
