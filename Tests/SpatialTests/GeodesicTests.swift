import Spatial
import Testing

@Suite struct GeodesicTests {
  /// Distances and bearings of GeographicLib's `GeodSolve -i`, to the millimetre.
  @Test(arguments: [
    // Flinders Peak to Buninyong, the example of Vincenty's paper, with WGS 84.
    (-37.95103341666667, 144.42486788888888, -37.65282113888889, 143.92649552777777, 54972.271, 306.86815),
    (0.0, 0.0, 0.0, 1.0, 111319.491, 90.0),
    (0.0, 0.0, 1.0, 0.0, 110574.389, 0.0),
    (10.0, 179.5, 10.0, -179.5, 109639.322, 89.91318),
  ])
  func matchesPublishedValues(
    latitude1: Double, longitude1: Double, latitude2: Double, longitude2: Double, distance: Double,
    bearing: Double
  ) {
    let a = Coordinate(latitude: latitude1, longitude: longitude1)
    let b = Coordinate(latitude: latitude2, longitude: longitude2)
    let result = a.geodesic(to: b)
    #expect(abs(result.distance - distance) < 0.002)
    #expect(abs(signedDegrees(from: bearing, to: result.bearing)) < 0.0001)
  }

  @Test func directSolutionInvertsTheInverseOne() {
    var seed: UInt64 = .random(in: 0 ... .max)
    print("seed \(seed)")
    func random(_ range: ClosedRange<Double>) -> Double {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return range.lowerBound + Double(seed >> 11) / 9_007_199_254_740_992
        * (range.upperBound - range.lowerBound)
    }
    for _ in 0..<500 {
      let start = Coordinate(latitude: random(-89...89), longitude: random(-180...180))
      let (distance, bearing) = (random(0.5...5_000_000), random(0...359.99))
      let end = start.destination(distance: distance, bearing: bearing)
      let back = start.geodesic(to: end)
      #expect(end.isValid)
      #expect(abs(back.distance - distance) < 0.002, "\(start) \(distance) \(bearing)")
    }
  }

  @Test func nearlyAntipodalPairsStayFinite() {
    let a = Coordinate(latitude: 0, longitude: 0)
    let distance = a.distance(to: Coordinate(latitude: 0.5, longitude: 179.7))
    #expect((19_800_000...20_100_000).contains(distance))
  }

  @Test func localFrameAgreesWithTheGeodesic() {
    for latitude in stride(from: -80.0, through: 80, by: 20) {
      let frame = LocalFrame(origin: Coordinate(latitude: latitude, longitude: 179.99))
      let point = frame.coordinate(at: SIMD2(3000, -4000))
      #expect(abs(frame.origin.distance(to: point) - 5000) < 10)
      let back = frame.offset(of: point)
      #expect(abs(back.x - 3000) < 1e-5 && abs(back.y + 4000) < 1e-5)
    }
  }
}
