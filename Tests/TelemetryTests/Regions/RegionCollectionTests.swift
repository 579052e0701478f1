import JSON
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct RegionCollectionTests {
  private func collection(_ features: String...) throws -> RegionCollection {
    let text = #"{"type":"FeatureCollection","features":["# + features.joined(separator: ",") + "]}"
    return try RegionCollection(json: JSONValue(parsing: Array(text.utf8)))
  }

  private static let square = "[[10,48],[10.01,48],[10.01,48.01],[10,48.01],[10,48]]"
  private static let hole = "[[10.002,48.002],[10.008,48.002],[10.008,48.008],[10.002,48.002]]"

  @Test func readsEveryKindOfRegion() throws {
    let collection = try collection(
      #"{"type":"Feature","id":"depot","properties":{"dwell":300,"desiredAccuracy":10,"speedLimit":8.25,"notifyOnExit":false,"colour":"red"},"geometry":{"type":"Polygon","coordinates":[\#(Self.square),\#(Self.hole)]}}"#,
      #"{"type":"Feature","id":7,"properties":{"radius":250.5},"geometry":{"type":"Point","coordinates":[10,48,500]}}"#,
      #"{"type":"Feature","properties":{"identifier":"both"},"geometry":{"type":"MultiPolygon","coordinates":[[\#(Self.square)],[[[11,48],[11.01,48],[11.01,48.01]]]]}}"#
    )
    #expect(collection.problems.isEmpty && collection.regions.map(\.identifier) == ["depot", "7", "both"])
    let depot = collection.regions[0]
    #expect(depot.desiredAccuracy == 10 && collection.regions[1].desiredAccuracy == nil)
    #expect(depot.speedLimit == 8.25 && collection.regions[1].speedLimit == nil)
    #expect(depot.dwell == 300 && depot.notifyOnEntry && !depot.notifyOnExit)
    guard case .polygon(let parts) = depot.shape else { throw JSONError("no polygon") }
    #expect(parts.count == 1 && parts[0].map(\.count) == [5, 4])
    #expect(parts[0][0][1] == Coordinate(latitude: 48, longitude: 10.01))
    #expect(
      collection.regions[1].shape == .circle(center: Coordinate(latitude: 48, longitude: 10), radius: 250.5))
    guard case .polygon(let both) = collection.regions[2].shape else { throw JSONError("no polygon") }
    #expect(both.count == 2)
  }

  /// GeoJSON converted from KML by ogr2ogr. The file can start with a byte order mark.
  @Test(arguments: ["name", "Name"]) func displayNameIsUsedAsIdentifier(key: String) throws {
    let text =
      "\u{FEFF}"
      + #"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"\#(key)":"Depot"},"#
      + #""geometry":{"type":"Polygon","coordinates":[\#(Self.square)]}}]}"#
    let collection = try RegionCollection(json: JSONValue(parsing: Array(text.utf8)))
    #expect(collection.regions.map(\.identifier) == ["Depot"] && collection.regions.first?.name == "Depot")
  }

  @Test(arguments: [
    ("urn:ogc:def:crs:EPSG::25832", false), ("EPSG:3857", false), ("urn:ogc:def:crs:OGC:1.3:CRS84", true),
  ])
  func otherReferenceSystemIsRejected(name: String, isRead: Bool) throws {
    let text =
      #"{"type":"FeatureCollection","features":[],"crs":{"type":"name","properties":{"name":"\#(name)"}}}"#
    let json = try JSONValue(parsing: Array(text.utf8))
    let collection = try? RegionCollection(json: json)
    #expect((collection != nil) == isRead)
  }

  @Test func speedLimitCanHaveAUnit() throws {
    for (limit, speed) in [("\"36 km/h\"", 10), ("\"10 m/s\"", 10), ("\"25mph\"", 11.176), ("10", 10.0)] {
      let collection = try collection(
        #"{"type":"Feature","id":"school","properties":{"radius":50,"speedLimit":\#(limit)},"geometry":{"type":"Point","coordinates":[10,48]}}"#
      )
      #expect(collection.regions.first?.speedLimit == speed, "\(limit)")
    }
  }

  @Test(arguments: ["0", "-8", "\"30\"", "\"-30 km/h\"", "\"0 km/h\"", "\"30 kmh\"", "\"1e3 m/s\"", "true"])
  func speedLimitMustBePositive(limit: String) throws {
    let collection = try collection(
      #"{"type":"Feature","id":"school","properties":{"radius":50,"speedLimit":\#(limit)},"geometry":{"type":"Point","coordinates":[10,48]}}"#
    )
    #expect(
      collection.problems.map(\.description) == [
        "feature 0 (\"school\"): key \"properties.speedLimit\": must be a number above 0 in m/s, or a speed with a unit, as in \"60 km/h\" or \"16.7 m/s\""
      ])
  }

  @Test(arguments: [
    (#"{"type":"Feature"}"#, "key \"type\": must be \"FeatureCollection\""), ("[]", "key \"type\""),
    (#"{"type":"FeatureCollection"}"#, "key \"features\": missing or not an array"),
    (#"{"type":"FeatureCollection","features":{}}"#, "key \"features\": missing or not an array"),
  ])
  func documentThatIsNoCollectionIsRejected(text: String, problem: String) throws {
    let json = try JSONValue(parsing: Array(text.utf8))
    do {
      _ = try RegionCollection(json: json)
      Issue.record("expected an error")
    } catch {
      #expect(error.description.hasPrefix(problem))
    }
  }
}
