import ArgumentParser
import Fleet
import FleetStore
import Spatial
import TestSupport
import Testing

@testable import odograph

/// The selection of a part of a recording on the command line.
@Suite struct RecordingArgumentsTests {
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
    #expect(try RecordingArguments.parse([]).selection().contains(nil))
    let selection = try RecordingArguments.parse(["--region", path]).selection()
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
    let other = try RecordingArguments.parse(["--region", crossed])
    let error = try #require(throws: FleetError.self) { try other.selection() }
    #expect(error.description.contains("crosses edge") && error.kind == .invalidInput)
  }
}
