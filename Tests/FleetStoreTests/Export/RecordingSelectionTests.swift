import Fleet
import FleetStore
import Spatial
import Testing

@Suite struct RecordingSelectionTests {
  /// Table: times in common notations.
  @Test func times() throws {
    var selection = RecordingSelection()
    try selection.setTimes(from: "2026-11-21", to: "2026-11-21T12:00:00+01:00")
    #expect(selection.from?.rfc3339 == "2026-11-21T00:00:00.000Z")
    #expect(selection.to?.rfc3339 == "2026-11-21T11:00:00.000Z")
    for (from, to) in [("yesterday", nil), (nil, "2026-13-01"), ("2026-11-21", "2026-11-21")] {
      let error = try #require(throws: FleetError.self) { try selection.setTimes(from: from, to: to) }
      #expect(error.kind == .invalidInput)
    }
  }

  @Test func formsByName() throws {
    func named(_ path: String) throws -> ExportFormat? { try ExportFormat.named(by: path) }
    #expect(try named("a/b.GPX") == .gpx && named("x.json") == .geojson)
    #expect(try named("x.ndjson") == .jsonl && named("gpx") == nil && named("days.parquet") == .parquet)
    #expect(try named("a.kml/b") == nil && named("a/.hidden") == nil)
    for name in ["o.txt", "x.gpx.gz", "x."] {
      #expect { try named(name) } throws: { "\($0)".contains("none of the forms") }
    }
  }
}
