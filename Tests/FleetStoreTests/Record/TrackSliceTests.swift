import Fleet
import FleetStore
import Spatial
import TestSupport
import Testing

/// A track is read in slices, over two connections if the server allows it: the result equals that of a single query.
@Suite struct TrackSliceTests {
  private static let day = (from: "2026-11-21T00:00:00Z", to: "2026-11-22T00:00:00Z")

  private static func span(_ from: String, _ to: String) throws -> TrackSpan {
    TrackSpan(
      vehicle: VehicleKey(fleet: "demo", vehicle: "v"), from: try #require(UTCTime(rfc3339: from)),
      to: try #require(UTCTime(rfc3339: to)))
  }

  /// 30,000 locations in the first hours, which is more than one portion in a slice, and tracks of the same times.
  private static func filled(_ settings: [String] = ["fsync=off"]) throws -> PostgreSQLFixture {
    let server = try PostgreSQLFixture(settings)
    _ = try PostgreSQLStore(address: server.url).store(RecordedRows.of([RecordedRows.location(1, at: 0)]))
    _ = try server.query(
      """
      INSERT INTO odograph.messages (received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, latitude, longitude)
        SELECT time, time, 'a', 'demo', 'v', 'location', 1, false, 'f', i, i * 0.001, 11 FROM generate_series(0, 29999) AS i,
          LATERAL (SELECT '2026-11-21 00:00Z'::timestamptz + i * interval '250 ms' AS time) AS given;
      INSERT INTO odograph.fixes (received, fleet, vehicle, time, latitude, longitude, epoch, seq, place)
        SELECT time, 'demo', 'v', time, 1, 2, 'f', i, 0 FROM generate_series(0, 95) AS i,
          LATERAL (SELECT '2026-11-21 00:00Z'::timestamptz + i * interval '15 minutes' AS time) AS given;
      ANALYZE
      """)
    return server
  }

  /// The fields that distinguish samples, without those that may be NaN. Samples of the same time have any order.
  private struct Sample: Hashable {
    var time: Int64
    var latitude: Double
    var source: TrackSample.Source
  }

  private static func read(
    _ recording: PostgreSQLRecording, _ span: TrackSpan, most: Int = .max
  ) throws -> [Sample] {
    var samples: [Sample] = []
    // After a failure the recording reconnects; a full server may not have ended the old session yet.
    if recording.line == nil { #expect(waitUntil { (try? recording.open()) != nil }) }
    try recording.readTrack(span) { sample in
      samples.append(Sample(time: sample.time, latitude: sample.latitude, source: sample.source))
      return samples.count < most
    }
    return samples
  }

  @Test(
    .needs(.postgreSQL),
    arguments: [
      (["fsync=off"], 2),
      (["fsync=off", "max_connections=3", "superuser_reserved_connections=0", "max_wal_senders=0"], 1),
    ]) func slicesEqualTheWhole(settings: [String], connections: Int) throws
  {
    let server = try Self.filled(settings)
    let recording = PostgreSQLRecording(address: server.url)
    // The connections that stored the rows may still be open.
    #expect(waitUntil { (try? recording.open()) != nil })
    var blockers: [PostgreSQLLine] = []
    if connections == 1 {
      #expect(
        waitUntil {
          if let blocker = try? PostgreSQLConnection(server.url) { blockers.append(PostgreSQLLine(blocker)) }
          return blockers.count == 2
        })
    }
    let span = try Self.span(Self.day.from, Self.day.to)
    let samples = try Self.read(recording, span)
    #expect(samples.count == 30_096)
    #expect(samples.map(\.time) == samples.map(\.time).sorted())
    #expect(samples.count { $0.source == .track } == 96)
    #expect((recording.secondLine != nil) == (connections == 2))
    // Limits other than whole hours.
    let part = try Self.span("2026-11-21T00:59:59.999Z", "2026-11-21T02:30:00.001Z")
    let between = samples.filter {
      (part.from..<part.to).contains(UTCTime(milliseconds: $0.time))
    }
    #expect(try Set(Self.read(recording, part)) == Set(between))
    // A reader that stops early leaves nothing behind.
    for most in [1, 11_999, 12_000, 12_001, 20_000] {
      #expect(try Self.read(recording, span, most: most) == Array(samples.prefix(most)))
    }
    var count = 0
    #expect(throws: FleetError.self) {
      try recording.readTrack(span) { _ throws(FleetError) in
        count += 1
        if count == 100 { throw FleetError.usage("use", "it", "enough") }
        return true
      }
    }
    #expect(try Self.read(recording, span) == samples)
    withExtendedLifetime(blockers) {}
  }

  @Test(arguments: [
    ("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", 8), ("2026-11-21T00:00:00Z", "2026-12-22T00:00:00Z", 8),
    ("2026-11-21T00:00:00.123Z", "2026-11-21T03:30:00.456Z", 3),
    ("2026-11-21T00:00:00Z", "2026-11-21T00:00:01Z", 1),
    ("2026-11-21T00:00:00Z", "2026-11-21T00:00:00Z", 1), ("1900-01-01T00:00:00Z", "2200-01-01T00:00:00Z", 1),
  ]) func slicesFollowEachOther(from: String, to: String, count: Int) throws {
    let span = try Self.span(from, to)
    let slices = span.slices
    #expect(slices.count == count)
    #expect(slices.first?.from == span.from && slices.last?.to == span.to)
    for (slice, next) in zip(slices, slices.dropFirst()) {
      #expect(slice.to == next.from && slice.from < slice.to)
    }
  }
}
