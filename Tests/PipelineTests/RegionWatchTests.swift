import JSON
import Pipeline
import Positioning
import Telemetry
import Testing

/// Monitoring of the regions of a GeoJSON document.
@Suite struct RegionWatchTests {
  private func collection(_ features: String...) throws -> RegionCollection {
    let text = #"{"type":"FeatureCollection","features":["# + features.joined(separator: ",") + "]}"
    return try RegionCollection(json: JSONValue(parsing: Array(text.utf8)))
  }

  private static let square = "[[10,48],[10.01,48],[10.01,48.01],[10,48.01],[10,48]]"

  private static let longest = String(repeating: "e", count: 64)

  @Test func invalidFeaturesAreNamedAndOthersAccepted() throws {
    let polygon = #""geometry":{"type":"Polygon","coordinates":[\#(Self.square)]}"#
    let collection = try collection(
      #"{"type":"Feature","id":"good",\#(polygon)}"#,
      #"{"type":"Feature","properties":{},\#(polygon)}"#,
      #"{"type":"Feature","id":"point","geometry":{"type":"Point","coordinates":[10,48]}}"#,
      #"{"type":"Feature","id":"line","geometry":{"type":"LineString","coordinates":[[10,48],[11,48]]}}"#,
      #"{"type":"Feature","id":"swapped","geometry":{"type":"Polygon","coordinates":[[[48,10],[48,110],[49,110]]]}}"#,
      #"{"type":"Feature","id":"text","geometry":{"type":"Polygon","coordinates":[[["10","48"]]]}}"#,
      #"{"type":"Feature","id":"slow","properties":{"dwell":"5 min"},\#(polygon)}"#,
      #"{"type":"Feature","id":"null","geometry":null}"#,
      #"{"type":"Feature","id":"good",\#(polygon)}"#,
      #"{"type":"Feature","id":"bow","geometry":{"type":"Polygon","coordinates":[[[10,48],[10.01,48.01],[10.01,48],[10,48.01],[10,48]]]}}"#,
      #"{"type":"Feature","id":"zero","properties":{"radius":0},"geometry":{"type":"Point","coordinates":[10,48]}}"#,
      #"{"type":"Feature","id":"flag","properties":{"notifyOnEntry":1},\#(polygon)}"#, "5",
      #"{"type":"Feature","id":"\#(String(repeating: "é", count: 33))",\#(polygon)}"#,
      #"{"type":"Feature","id":"\#(Self.longest)",\#(polygon)}"#,
      #"{"type":"Feature","id":"last",\#(polygon)}"#)
    var monitor = RegionMonitor()
    let watched = collection.watch(in: &monitor)
    #expect(watched.accepted == ["good", Self.longest, "last"] && monitor.count == 3)
    let expected = [
      "feature 0 (\"good\"): a later region has the same identifier and replaces it",
      "feature 1: has no identifier; give it an \"id\"",
      "feature 2 (\"point\"): key \"properties.radius\": missing or not a number; a Point needs one, in metres",
      "feature 3 (\"line\"): key \"geometry.type\": \"LineString\" is not Point (with a radius), Polygon or MultiPolygon",
      "feature 4 (\"swapped\"): key \"geometry.coordinates[0][1]\": [48.0, 110.0] has invalid coordinates; write [longitude, latitude]",
      "feature 5 (\"text\"): key \"geometry.coordinates[0][0]\": not a position; write [longitude, latitude]",
      "feature 6 (\"slow\"): key \"properties.dwell\": not a number; give seconds",
      "feature 7 (\"null\"): key \"geometry\": missing",
      "feature 9 (\"bow\"): edge",
      "feature 10 (\"zero\"): invalid radius 0.0: must be above 0",
      "feature 11 (\"flag\"): key \"properties.notifyOnEntry\": must be true or false",
      "feature 12: key \"type\": must be \"Feature\"",
      "feature 13 (\"\(String(repeating: "é", count: 33))\"): its identifier is longer than 64 bytes; shorten it",
    ]
    #expect(watched.problems.count == expected.count)
    for (problem, text) in zip(watched.problems, expected) {
      #expect(problem.description.hasPrefix(text), "\(problem)")
    }
  }
}
