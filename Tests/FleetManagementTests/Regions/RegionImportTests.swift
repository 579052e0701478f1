import Fleet
import FleetManagement
import JSON
import Spatial
import Telemetry
import TestSupport
import Testing

@Suite struct RegionImportTests {
  private func read(_ text: String, radius: Double? = nil) throws(JSONError) -> RegionDocument {
    try RegionImport.parse(Array(text.utf8), radius: radius)
  }

  /// Three formats of the same square and circle.
  @Test(arguments: [
    """
    {"type":"FeatureCollection","features":[
      {"type":"Feature","id":"yard","properties":{"x":1},
       "geometry":{"type":"Polygon","coordinates":[[[11.5,48.1],[11.6,48.1],[11.6,48.2],[11.5,48.2]]]}},
      {"type":"Feature","properties":{"name":"stop"},"geometry":{"type":"Point","coordinates":[11.5,48.1,520]}}]}
    """,
    """
    <?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><Folder>
    <Placemark><name>yard</name><Polygon><outerBoundaryIs><LinearRing><coordinates>
      11.5,48.1,0 11.6,48.1,0 11.6,48.2,0 11.5,48.2,0 11.5,48.1,0
    </coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>
    <Placemark><name>a street</name><LineString><coordinates>1,2 3,4</coordinates></LineString></Placemark>
    <Placemark><name>stop</name><Point><coordinates>11.5,48.1</coordinates></Point></Placemark>
    </Folder></Document></kml>
    """,
    """
    # comment
    yard: POLYGON ((11.5 48.1, 11.6 48.1, 11.6 48.2, 11.5 48.2))
    "stop"\tSRID=4326;POINT Z (11.5 48.1 520)
    """,
  ])
  func readsTheSame(text: String) throws {
    let document = try read(text, radius: 80)
    #expect(document.features.map(\.identifier) == ["yard", "stop"])
    guard case .rings(let rings)? = document["yard"]?.shape?.outline else {
      Issue.record("no polygon")
      return
    }
    // An open ring is closed.
    #expect(rings.count == 1 && rings[0].count == 5 && rings[0].first == rings[0].last)
    guard case .circle(let center, let radius)? = document["stop"]?.shape?.outline else {
      Issue.record("no circle")
      return
    }
    #expect(radius == 80 && center.latitude == 48.1 && center.longitude == 11.5)
  }

  @Test func holesAndParts() throws {
    let text =
      "two: MULTIPOLYGON (((0 0, 9 0, 9 9, 0 9, 0 0),(1 1, 2 1, 2 2, 1 1)),((20 0, 21 0, 21 1, 20 0)))"
    guard case .rings(let rings)? = try read(text)["two"]?.shape?.outline else {
      Issue.record("no polygon")
      return
    }
    #expect(rings.map(\.count) == [5, 4, 4])
  }

  /// `export --region` has no option for the radius.
  @Test(arguments: [true, false]) func anOptionIsNamedWhereThereIsOne(hasOption: Bool) throws {
    let text = #"{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]}}"#
    let error = try #require(throws: JSONError.self) {
      _ = try RegionImport.parse(Array(text.utf8), radius: nil, hasRadiusOption: hasOption)
    }
    #expect("\(error)".contains("has no radius") && "\(error)".contains("--radius") == hasOption)
  }

  @Test(arguments: [
    ("", "it is empty"), ("{}", "not GeoJSON"),
    (#"{"type":"FeatureCollection","features":[]}"#, "it contains no region"),
    (#"{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]}}"#, "has no radius"),
    (
      #"{"type":"Feature","id":"a","geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]}}"#,
      "\"LineString\" is not an area"
    ),
    (#"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}"#, "has no name"),
    (
      #"{"type":"Feature","id":"a","geometry":{"type":"Polygon","coordinates":[[[1,95],[2,2],[3,3]]]}}"#,
      "geometry.coordinates[0][0]\": [1.0, 95.0] has invalid coordinates"
    ),
    (
      #"{"type":"Feature","id":"a","geometry":{"type":"Polygon","coordinates":[[[1,1],[2,2]]]}}"#,
      "less than three corners"
    ),
    ("CIRCLE (1 2)", "line 1: \"CIRCLE\" is not POINT"), ("POLYGON ((1 2, 3 x, 4 5))", "\"x\" is no number"),
    ("POLYGON ((1 2, 3 4, 5 6)", "expected \")\""), ("SRID=25832;POINT (1 2)", "SRID=25832"),
    ("<kml><Placemark>", "line 1"),
    (
      "<kml><Placemark><Point><coordinates>a,b</coordinates></Point></Placemark></kml>",
      "not longitude,latitude"
    ),
  ])
  func errorsDescribeTheCause(text: String, cause: String) throws {
    let error = try #require(throws: JSONError.self) { try read(text) }
    #expect(error.description.contains(cause), "\(error)")
  }

  private static let square = #""geometry":{"type":"Polygon","coordinates":[[[1,1],[2,1],[2,2],[1,1]]]}"#

  @Test func featuresThatCannotBeRegionsAreSkipped() throws {
    let file = try read(
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"a",\#(Self.square)},"#
        + #"{"type":"Feature","id":"b","geometry":null},{"type":"Feature","geometry":{"type":"LineString","coordinates":[]}}]}"#
    )
    #expect(file.features.map(\.identifier) == ["a"])
    #expect(file.skipped == ["feature 2: it has no geometry", "feature 3: \"LineString\" is not an area"])
  }

  @Test(arguments: ["name", "Name", "NAME"]) func aDisplayNameIsAName(key: String) throws {
    let feature = #"{"type":"Feature","properties":{"\#(key)":"Depot"},\#(Self.square)}"#
    let file = try read("\u{FEFF}" + #"{"type":"FeatureCollection","features":[\#(feature),\#(feature)]}"#)
    #expect(file.features.map(\.identifier) == ["Depot", "Depot 2"] && file.replaced.isEmpty)
    #expect(try read("\u{FEFF}Depot: POLYGON ((0 0, 1 0, 1 1))")["Depot"] != nil)
  }

  @Test(arguments: [
    ("urn:ogc:def:crs:EPSG::25832", false), ("EPSG:3857", false), ("", false),
    ("urn:ogc:def:crs:OGC:1.3:CRS84", true), ("EPSG:4326", true), ("urn:ogc:def:crs:EPSG::4326", true),
  ])
  func otherReferenceSystemIsRejected(name: String, isRead: Bool) throws {
    let text =
      #"{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"\#(name)"}},"features":[{"type":"Feature","id":"a",\#(Self.square)}]}"#
    do throws(JSONError) {
      _ = try read(text)
      #expect(isRead)
    } catch {
      #expect(!isRead && "\(error)".contains("WGS 84"))
    }
  }

  /// Placemarks in the form of Google Earth.
  @Test func theDisplayNameOfKMLIsTheName() throws {
    func placemark(_ name: String, _ longitude: Int) -> String {
      "<Placemark id='0A\(longitude)'><name>\(name)</name><Polygon><outerBoundaryIs><LinearRing><coordinates>"
        + "\(longitude),1 \(longitude + 1),1 \(longitude + 1),2</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>"
    }
    let kml = "<kml><Document>" + [1, 3, 5].map { placemark("Zone", $0) }.joined() + "</Document></kml>"
    #expect(try read(kml).features.map(\.identifier) == ["Zone", "Zone 2", "Zone 3"])
    #expect(try read(kml.replacing("Zone", with: "")).features.map(\.identifier) == ["0A1", "0A3", "0A5"])
    let long = String(repeating: "é", count: 60)
    #expect(
      try read(kml.replacing("Zone", with: long)).features.allSatisfy { $0.identifier.utf8.count <= 64 })
  }

  /// The last region of a name replaces the former ones, as in the agent.
  @Test func theLastRegionOfANameIsUsed() throws {
    let read = try read(
      "a: POLYGON ((0 0, 1 0, 1 1))\nb: POLYGON ((0 0, 1 0, 1 1))\na: POLYGON ((0 0, 1 0, 1 1, 0 1))")
    #expect(read.features.map(\.identifier) == ["b", "a"] && read.replaced == ["a"])
    guard case .rings(let rings)? = read["a"]?.shape?.outline else {
      Issue.record("no polygon")
      return
    }
    #expect(rings.first?.count == 5)
  }

  @Test func differences() throws {
    let wanted = try read(
      "a: POLYGON ((0 0, 1 0, 1 1))\nb: POLYGON ((0 0, 1 0, 1 1))\nc: POLYGON ((0 0, 1 0, 1 1))")
    let told = try read(
      "b: POLYGON ((0 0, 1 0, 1 1))\nc: POLYGON ((0 0, 2 0, 1 1))\nd: POLYGON ((0 0, 1 0, 1 1))")
    var report = VehicleDocuments(desired: told.json(version: "1"))
    report.reported = try JSONValue(
      parsing: Array(#"{"version":"1","accepted":["b","c","d"],"refused":[]}"#.utf8))
    #expect(
      report.differences(to: wanted).map { "\($0.kind) \($0.identifier)" } == [
        "missing a", "changed c", "extra d",
      ])
    #expect(report.differences(to: nil).isEmpty && report.isCurrent)
    report.reported = try JSONValue(
      parsing: Array(
        #"{"version":"1","accepted":["b"],"refused":[{"index":1,"reason":"x"},{"index":2,"region":"d","reason":"y"}]}"#
          .utf8))
    #expect(report.differences(to: nil).map(\.identifier) == ["c", "d"])
    #expect(report.refusal(of: "c") == "refused: x" && report.refusal(of: "d") == "refused: y")
    report.reported = try JSONValue(parsing: Array(#"{"version":"0","accepted":["b","c","d"]}"#.utf8))
    #expect(!report.isCurrent && report.differences(to: nil).count == 3)
    // Regions of the vehicle's own file are no answer to a document.
    report.reported = try JSONValue(
      parsing: Array(#"{"source":"file","accepted":["b","c","d"],"refused":[{"index":0,"reason":"x"}]}"#.utf8)
    )
    #expect(report.reportsFile && !report.isCurrent && report.acceptedRegions == nil)
    #expect(report.refusal(of: "b") == nil && report.differences(to: nil).count == 3)
  }

  @Test func neverTrapsOnNoise() {
    var generator = SplitMix(seed: 99)
    let alphabet = Array("POLYGONINTMU(),: ;=\t0123.-eE<>/kmlPlacemark{}[]\"".utf8)
    for _ in 0..<5000 {
      let bytes = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
        alphabet.randomElement(using: &generator) ?? 0
      }
      for start in ["", "POLYGON ((", "<kml>", "{"] {
        _ = try? RegionImport.parse(Array(start.utf8) + bytes, radius: 5)
      }
    }
  }

  @Test func speedLimitsAreCheckedAndConverted() throws {
    func file(_ limit: String) -> String {
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"school","properties":{"radius":80,"speedLimit":\#(limit)},"geometry":{"type":"Point","coordinates":[11.5,48.1]}}]}"#
    }
    let written = try read(file("\"30 km/h\""))
    // On the wire a limit is a number.
    #expect(written["school"]?.json["properties"]?["speedLimit"]?.double == 8.333333)
    do throws(JSONError) {
      _ = try read(file("\"30 knots\""))
      Issue.record("must be refused")
    } catch {
      #expect(
        error.description
          == #"feature 1: "school": key "properties.speedLimit": must be a number above 0 in m/s, or a speed with a unit, as in "60 km/h" or "16.7 m/s""#
      )
    }
  }
}
