import Fleet
import FleetStore
import Spatial
import TestSupport
import Testing

/// A day of a vehicle is read from the index in the order of time.
@Suite struct TrackPlanTests {
  @Test(.needs(.postgreSQL)) func aDayIsReadInOrder() throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    _ = try store.store(
      RecordedRows.of([RecordedRows.location(1, at: 0), RecordedRows.track(2, at: 1, latitudes: [1])]))
    _ = try server.query(
      """
      INSERT INTO odograph.messages (received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, latitude, longitude)
        SELECT time, time, 'a', 'demo', 'v' || v, 'location', 1, false, 'f', i, 48, 11
          FROM generate_series(0, 2000) AS i, generate_series(0, 9) AS v, LATERAL (SELECT '2026-11-21 00:00Z'::timestamptz
            + i * interval '10 seconds' AS time) AS given;
      ANALYZE
      """)
    let recording = PostgreSQLRecording(address: server.url)
    try recording.open()
    let span = TrackSpan(
      vehicle: VehicleKey(fleet: "demo", vehicle: "v3"),
      from: try #require(UTCTime(rfc3339: "2026-11-21T00:00:00Z")),
      to: try #require(UTCTime(rfc3339: "2026-11-22T00:00:00Z")))
    var (sql, values) = recording.trackSQL(span) { $0 }
    for (index, value) in values.enumerated().reversed() {
      let text =
        switch value {
        case .text(let text): text
        case .time(let time): time.rfc3339
        case .number(let number): "\(number)"
        }
      sql = sql.replacing("$\(index + 1)", with: "'\(text)'")
    }
    func plan(_ settings: String) throws -> String {
      try server.query("BEGIN; \(settings); EXPLAIN \(sql)").map { $0[0] }.joined(separator: "\n")
    }
    let usual = try plan("SET LOCAL jit = off")
    #expect(usual.contains("Bitmap Heap Scan"), "\(usual)")
    let ours = try plan(PostgreSQLRecording.trackPlan)
    #expect(ours.contains("Index Scan using messages_20261121"), "\(ours)")
    #expect(!ours.contains("Bitmap") && !ours.contains("Seq Scan"), "\(ours)")
    var times: [Int64] = []
    try recording.readTrack(span) { sample in
      times.append(sample.time)
      return true
    }
    #expect(times.count == 2001 && times == times.sorted())
  }
}
