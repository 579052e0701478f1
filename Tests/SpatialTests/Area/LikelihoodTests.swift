import Foundation
import Spatial
import TestSupport
import Testing

@Suite struct LikelihoodTests {
  private let center = Coordinate(latitude: 48, longitude: 179.9999)

  private func normal(_ x: Double) -> Double { 0.5 * erfc(-x / 2.0.squareRoot()) }

  /// The likelihood of a square with sides to the east and north has a closed form.
  @Test(arguments: [(0.0, 0.0), (10, 0), (35, 5), (50, 0), (50, 50), (70, -20), (200, 0), (0, -300)])
  func squares(east: Double, north: Double) throws {
    let frame = LocalFrame(origin: center)
    let corners = [(-50.0, -50.0), (50, -50), (50, 50), (-50, 50)].map {
      frame.coordinate(at: SIMD2($0.0, $0.1))
    }
    let polygon = try Polygon([corners])
    let place = SurfacePoint(frame.coordinate(at: SIMD2(east, north)))
    for deviation in [5.0, 20, 60, 300] {
      let expected =
        (normal((50 - east) / deviation) - normal((-50 - east) / deviation))
        * (normal((50 - north) / deviation) - normal((-50 - north) / deviation))
      let likelihood = polygon.likelihood(at: place, deviation: deviation)
      #expect(abs(likelihood.isTrue - expected) < 2e-4)
      #expect(abs(likelihood.isTrue + likelihood.isFalse - 1) < 1e-12)
    }
  }

  @Test func tailsKeepTheirPrecision() throws {
    let frame = LocalFrame(origin: center)
    let corners = [(-5000.0, -5000.0), (0, -5000), (0, 5000), (-5000, 5000)].map {
      frame.coordinate(at: SIMD2($0.0, $0.1))
    }
    let polygon = try Polygon([corners])
    for deviations in [1.0, 3, 5, 7, 8.5] {
      let inside = polygon.likelihood(
        at: SurfacePoint(frame.coordinate(at: SIMD2(-10 * deviations, 0))), deviation: 10)
      let outside = polygon.likelihood(
        at: SurfacePoint(frame.coordinate(at: SIMD2(10 * deviations, 0))), deviation: 10)
      let tail = normal(-deviations)
      #expect(abs(inside.isFalse / tail - 1) < 0.02 && abs(outside.isTrue / tail - 1) < 0.02)
    }
  }

  /// At the boundary, inside and outside are equally likely, for any rounding.
  @Test func theBoundaryIsAnEvenChance() throws {
    var random = SplitMix.announced()
    for _ in 0..<200 {
      let middle = random.coordinate()
      let corners = ring(around: middle, (0..<5).map { _ in random.uniform(4000...5000) })
      let polygon = try Polygon([corners])
      let place = SurfacePoint(polygon.rings[0][0]).interpolated(
        to: SurfacePoint(polygon.rings[0][1]), fraction: random.uniform(0.3...0.7))
      #expect(abs(polygon.likelihood(at: place, deviation: 20).isTrue - 0.5) < 0.01)
    }
  }

  @Test(arguments: [(0.0, 30.0, 20.0), (40, 30, 20), (30, 30, 20), (500, 400, 20), (0, 50, 5), (90, 30, 10)])
  func circlesAgreeWithPolygonsOfManyCorners(distance: Double, radius: Double, deviation: Double) throws {
    let circle = try #require(Circle(center: center, radius: radius))
    let polygon = try Polygon([ring(around: center, Array(repeating: radius, count: 720))])
    let place = SurfacePoint(center.destination(distance: distance, bearing: 77))
    let (a, b) = (
      circle.likelihood(at: place, deviation: deviation), polygon.likelihood(at: place, deviation: deviation)
    )
    #expect(abs(a.isTrue - b.isTrue) < 1e-3 && abs(a.isFalse - b.isFalse) < 1e-3)
    #expect(abs(a.isTrue - b.isTrue) < 1e-14 + 0.05 * b.isTrue)
    #expect(abs(a.isFalse - b.isFalse) < 1e-14 + 0.05 * b.isFalse)
  }

  @Test func impossibleCirclesAreRefused() {
    for radius in [0, -5, .nan, .infinity, 1.1e7] { #expect(Circle(center: center, radius: radius) == nil) }
    #expect(Circle(center: Coordinate(latitude: 95, longitude: 0), radius: 5) == nil)
  }
}
