import FleetWeb
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct MapBoundsTests {
  @Test(arguments: [
    ("11,48,12,49", 48.5, 11.5, true), ("11,48,12,49", 48.5, 12.1, false), ("11,48,12,49", 47.9, 11.5, false),
    // Across the 180th meridian, in both notations.
    ("179,-20,181,-10", -15.0, -179.5, true), ("179,-20,-179,-10", -15.0, 179.5, true),
    ("179,-20,-179,-10", -15.0, 0.0, false), ("-181,-20,-179,-10", -15.0, 179.5, true),
    // The whole world, and more.
    ("-180,-90,180,90", 0.0, 180.0, true), ("-540,-90,540,90", 10.0, 77.0, true),
    ("371,48,372,49", 48.5, 11.5, true),
  ]) func aPlaceIsInside(_ text: String, _ latitude: Double, _ longitude: Double, _ isInside: Bool) throws {
    let bounds = try MapBounds(parsing: text)
    #expect(bounds.contains(Coordinate(latitude: latitude, longitude: longitude)) == isInside)
  }

  @Test(arguments: ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "nan,0,1,1", "0,inf,1,1", "0,10,1,5", "1e9,0,1,1"])
  func invalidBoundsAreRefused(_ text: String) {
    #expect(throws: WebError.self) { try MapBounds(parsing: text) }
  }

  /// Snapped bounds contain the requested ones, and extend them by at most half of their size at each side.
  @Test func snappedBoundsContainTheRequestedOnes() throws {
    var random = SeededGenerator.announced()
    for _ in 0..<20_000 {
      let west = Double.random(in: -180..<180, using: &random)
      let south = Double.random(in: -90..<90, using: &random)
      let side = pow10(Double.random(in: -4...2.5, using: &random))
      let (east, north) = (west + side, min(90, south + side / 2))
      let bounds = try MapBounds(parsing: "\(west),\(south),\(east),\(north)")
      let snapped = bounds.snapped
      let place = Coordinate(
        latitude: Double.random(in: bounds.south...bounds.north, using: &random),
        longitude: signedDegrees(from: 0, to: west + bounds.width * Double.random(in: 0...1, using: &random)))
      #expect(
        !bounds.contains(place) || snapped.contains(place),
        "\(bounds) \(snapped) \(place), seed \(random.seed)")
      let side0 = max(bounds.width, bounds.north - bounds.south, 1e-3)
      #expect(
        snapped.width == 360 || snapped.width <= bounds.width + side0 / 2 + 1e-9, "\(bounds) \(snapped)")
    }
  }

  /// Nearly equal bounds are snapped to the same bounds, so that clients can share answers.
  @Test func nearlyEqualBoundsAreSnappedToTheSame() throws {
    let one = try MapBounds(parsing: "11.33,48.02,11.79,48.29").snapped
    let other = try MapBounds(parsing: "11.32,48.01,11.80,48.28").snapped
    #expect(one == other)
  }

  private func pow10(_ exponent: Double) -> Double {
    var value = 1.0
    for _ in 0..<abs(Int(exponent)) { value *= exponent < 0 ? 0.1 : 10 }
    return value * (1 + abs(exponent - exponent.rounded(.towardZero)) * 8)
  }
}
