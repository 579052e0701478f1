import Fleet
import Spatial
import TestSupport
import Testing

@testable import FleetStore

@Suite struct RecordingSelectionTests {
  /// Table: times as people write them.
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

  @Test func regionsWithHolesAndCircles() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write(
      "regions.geojson",
      #"""
      {"type":"FeatureCollection","features":[
       {"type":"Feature","id":"ring","properties":{},"geometry":{"type":"Polygon","coordinates":
         [[[11,48],[12,48],[12,49],[11,49],[11,48]],[[11.4,48.4],[11.6,48.4],[11.6,48.6],[11.4,48.6],[11.4,48.4]]]}},
       {"type":"Feature","id":"stop","properties":{"radius":1000},"geometry":{"type":"Point","coordinates":[20,50]}}]}
      """#)
    var selection = RecordingSelection()
    #expect(selection.contains(nil))
    try selection.setRegion(path)
    let inside = [(48.2, 11.2), (50.001, 20.001)]
    let outside = [(48.5, 11.5), (47.9, 11.5), (50.02, 20)]
    for (latitude, longitude) in inside {
      #expect(selection.contains(Coordinate(latitude: latitude, longitude: longitude)))
    }
    for (latitude, longitude) in outside {
      #expect(!selection.contains(Coordinate(latitude: latitude, longitude: longitude)))
    }
    #expect(!selection.contains(nil))
    let crossed = try directory.write("crossed.wkt", "x: POLYGON ((0 0, 1 1, 1 0, 0 1))\n")
    let error = try #require(throws: FleetError.self) { try selection.setRegion(crossed) }
    #expect(error.description.contains("crosses edge") && error.kind == .invalidInput)
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
