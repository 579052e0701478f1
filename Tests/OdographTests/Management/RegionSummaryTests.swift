import FleetManagement
import TestSupport
import Testing

@testable import odograph

/// The texts of `odograph regions list`.
@Suite struct RegionSummaryTests {
  private func regions(_ text: String) throws -> RegionDocument {
    try RegionImport.read(Array(text.utf8), of: "regions.wkt", radius: nil)
  }

  @Test(arguments: [
    ("a: POLYGON ((0 0, 1 0, 1 1))", "polygon, 3 corners"),
    ("a: POLYGON ((0 0, 1 0, 1 1, 0 0))", "polygon, 3 corners"),
    ("a: POLYGON ((0 0, 9 0, 9 9, 0 9),(1 1, 2 1, 2 2))", "polygon, 7 corners in 2 rings"),
  ])
  func aSummaryCountsCorners(text: String, summary: String) throws {
    #expect(try regions(text).features.first?.summary == summary)
  }

  @Test(arguments: ["8.3333", "\"30 km/h\""]) func aSummaryContainsTheSpeedLimit(limit: String) throws {
    let text =
      #"{"type":"Feature","id":"school","properties":{"radius":80,"speedLimit":\#(limit)},"geometry":{"type":"Point","coordinates":[11.5,48.1]}}"#
    #expect(
      try regions(text)["school"]?.summary == "circle of 80 m around 48.10000   11.50000, limit 30.0 km/h")
  }
}
