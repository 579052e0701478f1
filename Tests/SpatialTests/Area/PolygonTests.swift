import Spatial
import TestSupport
import Testing

@Suite struct PolygonTests {
  private func holds(_ polygon: Polygon, _ longitude: Double, _ latitude: Double) -> Bool {
    polygon.contains(Coordinate(latitude: latitude, longitude: longitude))
  }

  @Test func holesAndPartsCount() throws {
    let outer = ring((10, 48), (10.02, 48), (10.02, 48.02), (10, 48.02))
    let hole = ring((10.005, 48.005), (10.015, 48.005), (10.015, 48.015), (10.005, 48.015))
    let island = ring((10.008, 48.008), (10.012, 48.008), (10.012, 48.012), (10.008, 48.012))
    let polygon = try Polygon(parts: [[outer, hole], [island]])
    #expect(holds(polygon, 10.002, 48.002) && holds(polygon, 10.01, 48.01))
    #expect(!holds(polygon, 10.006, 48.01) && !holds(polygon, 10.03, 48.01) && !holds(polygon, 10.01, 47.999))
    #expect(!holds(polygon, -170, -48))
    let middle = SurfacePoint(Coordinate(latitude: 48.0065, longitude: 10.01))
    // In the hole, 0.0015° of latitude from both boundaries.
    #expect(abs(polygon.signedDistance(from: middle) + 0.0015 * 111_200) < 0.5)
  }

  /// A ring may have either orientation, be closed or open, and repeat vertices.
  @Test func ringOrientationAndClosureDoNotMatter() throws {
    let corners = ring((10, 48), (10.02, 48), (10.02, 48.02), (10, 48.02))
    let plain = try Polygon([corners])
    for other in [corners.reversed(), corners + [corners[0]], corners.flatMap { [$0, $0] }] {
      let polygon = try Polygon([Array(other)])
      #expect(polygon.rings[0].count == 4)
      for (longitude, latitude) in [(10.001, 48.001), (10.019, 48.019), (10.021, 48.01), (9.999, 48.01)] {
        #expect(holds(polygon, longitude, latitude) == holds(plain, longitude, latitude))
      }
    }
  }

  @Test func polygonsMayContainAntimeridianAndPoles() throws {
    let pacific = try Polygon([ring((179, -1), (-179, -1), (-179, 1), (179, 1))])
    #expect(holds(pacific, 180, 0) && holds(pacific, -180, 0) && holds(pacific, 179.5, 0.5))
    #expect(holds(pacific, -179.5, -0.5) && !holds(pacific, 178.9, 0) && !holds(pacific, 0, 0))

    let arctic = try Polygon([ring((0, 80), (90, 80), (180, 80), (-90, 80))])
    #expect(
      holds(arctic, 17, 90) && holds(arctic, 45, 86) && !holds(arctic, 45, 80.1) && holds(arctic, 0, 80.1))
    #expect(!holds(arctic, 0, -90) && !holds(arctic, 0, 79.9))

    // GeoJSON writes a polar cap with an edge along the antimeridian to the pole and back.
    let cap = try Polygon([
      ring((-180, -70), (-90, -70), (0, -70), (90, -70), (180, -70), (180, -90), (-180, -90), (-180, -70))
    ])
    #expect(cap.rings[0].count == 4)
    #expect(holds(cap, 33, -90) && holds(cap, 180, -80) && holds(cap, -1, -71) && !holds(cap, 0, -69))

    // Parts split at the antimeridian (RFC 7946): the likelihood ignores the seam.
    let split = try Polygon(parts: [
      [ring((179, -1), (180, -1), (180, 1), (179, 1))], [ring((-180, -1), (-179, -1), (-179, 1), (-180, 1))],
    ])
    let seam = SurfacePoint(Coordinate(latitude: 0, longitude: 180))
    #expect(split.likelihood(at: seam, deviation: 10).isFalse < 1e-9)
  }

  @Test(
    arguments: [
      ([], PolygonError.noRing), ([[]], .noRing),
      ([[ring((10, 48), (10.1, 48))]], .tooFewVertices(ring: 0)),
      ([[ring((10, 48), (10.1, 48), (10, 48))]], .tooFewVertices(ring: 0)),
      ([[ring((10, 48), (10, 48.1), (10, 48.2))]], .zeroArea(ring: 0)),
      ([[ring((10, 48), (11, 91), (11, 48))]], .invalidCoordinate(ring: 0, vertex: 1)),
      ([[ring((10, 48), (11, .nan), (11, 48))]], .invalidCoordinate(ring: 0, vertex: 1)),
      ([[ring((10, 48), (181, 48), (11, 48))]], .invalidCoordinate(ring: 0, vertex: 1)),
      ([[ring((0, 0), (90, 0), (180, 0), (-90, 0))]], .tooLarge),
      ([[ring((0, 0), (80, 0), (80, 80), (-80, 0))]], .tooLarge),
      (
        [
          [
            ring((10, 48), (11, 48), (11, 49)), ring((10.8, 48.1), (10.9, 48.1), (10.9, 48.2)),
            ring((5, 5), (6, 5), (6, 6)),
          ]
        ],
        .holeOutside(ring: 2)
      ),
      (
        [[ring((10, 48), (11, 48), (11, 49)), ring((12, 48.1), (12.1, 48.1), (12.1, 48.2))]],
        .holeOutside(ring: 1)
      ),
    ] as [([[[Coordinate]]], PolygonError)])
  func badRingsAreRefused(parts: [[[Coordinate]]], problem: PolygonError) {
    #expect(throws: problem) { try Polygon(parts: parts) }
  }

  @Test func aCrossingIsReportedWithItsPosition() throws {
    do {
      _ = try Polygon([ring((10, 48), (10.01, 48.01), (10.01, 48), (10, 48.01))])
      Issue.record("a bow tie must be refused")
    } catch {
      guard case .selfCrossing(0, let first, 0, let second, let place) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(Set([first, second]) == [0, 2])
      #expect(place.distance(to: Coordinate(latitude: 48.005, longitude: 10.005)) < 1)
      #expect("\(error)".contains("put the vertices in order"))
    }
  }

  /// Comparison with the geodesic to densely spaced points along each edge.
  @Test func distancesAgreeWithTheGeodesic() throws {
    var random = SplitMix.announced()
    for _ in 0..<60 {
      let center = random.coordinate()
      let scale = [30.0, 300, 5000, 100_000, 1_000_000][Int(random.uniform(0...4.99))]
      let corners = ring(around: center, (0..<7).map { _ in scale * random.uniform(0.5...1) })
      let polygon = try Polygon([corners])
      for _ in 0..<4 {
        let place = center.destination(
          distance: scale * random.uniform(0...3), bearing: random.uniform(0...360))
        var nearest = Double.infinity
        for (index, a) in corners.enumerated() {
          nearest = min(nearest, distance(from: place, toEdge: a, corners[(index + 1) % corners.count]))
        }
        let found = abs(polygon.signedDistance(from: SurfacePoint(place)))
        #expect(abs(found - nearest) < 0.1 + 0.001 * nearest, "\(center) \(scale) \(place)")
        #expect((polygon.signedDistance(from: SurfacePoint(place)) > 0) == polygon.contains(place))
      }
    }
  }

  /// The shortest distance to an edge, found in ever finer steps along the great ellipse.
  private func distance(from place: Coordinate, toEdge a: Coordinate, _ b: Coordinate) -> Double {
    let (start, end) = (SurfacePoint(a), SurfacePoint(b))
    var (low, high, best, bestFraction) = (0.0, 1.0, Double.infinity, 0.0)
    for _ in 0..<12 {
      for step in 0...10 {
        let fraction = low + (high - low) * Double(step) / 10
        let distance = start.interpolated(to: end, fraction: fraction).coordinate.distance(to: place)
        if distance < best { (best, bestFraction) = (distance, fraction) }
      }
      let width = (high - low) / 8
      (low, high) = (max(0, bestFraction - width), min(1, bestFraction + width))
    }
    return best
  }

  /// Along the edges of a geofence, great ellipse and geodesic agree.
  @Test func edgesFollowTheGeodesic() {
    for latitude in [0.0, 20, 48, 70] {
      let a = Coordinate(latitude: latitude, longitude: 179.5)
      for bearing in stride(from: 0.0, to: 360, by: 30) {
        for (length, deviation) in [(1000.0, 1e-4), (10_000, 0.007), (100_000, 0.7)] {
          let middle = a.destination(distance: length / 2, bearing: bearing)
          let b = a.destination(distance: length, bearing: bearing)
          #expect(distance(from: middle, toEdge: a, b) < deviation)
        }
      }
    }
  }

  @Test func crossingsAreFoundWhereTheyAre() throws {
    let a = Coordinate(latitude: 60, longitude: 179.99)
    let polygon = try Polygon([ring(around: a.destination(distance: 500, bearing: 90), [100, 100, 100, 100])])
    let (start, end) = (SurfacePoint(a), SurfacePoint(a.destination(distance: 1000, bearing: 90)))
    let fractions = polygon.crossings(from: start, to: end)
    #expect(fractions.count == 2)
    #expect(abs(fractions[0] - 0.4) < 1e-4 && abs(fractions[1] - 0.6) < 1e-4)
    #expect(
      polygon.crossings(from: end, to: SurfacePoint(a.destination(distance: 1500, bearing: 90))).isEmpty)
    let circle = try #require(Circle(center: a.destination(distance: 500, bearing: 90), radius: 100))
    let around = circle.crossings(from: start, to: end)
    #expect(around.count == 2 && abs(around[0] - 0.4) < 1e-4 && abs(around[1] - 0.6) < 1e-4)
    #expect(circle.crossings(from: start, to: start.interpolated(to: end, fraction: 0.5)).count == 1)
    #expect(circle.crossings(from: start, to: start.interpolated(to: end, fraction: 0.3)).isEmpty)
  }
}
