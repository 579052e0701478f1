import Foundation
import Spatial
import TestSupport
import Testing

/// Overlapping parts and holes. The reference tests each point by its winding number, ring by ring.
@Suite struct PolygonUnionTests {
  private let east = ring((11.51, 48.09), (11.56, 48.09), (11.56, 48.11), (11.51, 48.11))
  private let inner = ring((11.53, 48.097), (11.54, 48.097), (11.54, 48.103), (11.53, 48.103))

  private func isInside(_ polygon: Polygon, _ longitude: Double, _ latitude: Double = 48.1) -> Bool {
    polygon.contains(Coordinate(latitude: latitude, longitude: longitude))
  }

  @Test func aRepeatedPartCountsOnce() throws {
    let (once, twice) = (try Polygon([east]), try Polygon(parts: [[east], [Array(east.reversed())], [east]]))
    #expect(isInside(twice, 11.535) && !isInside(twice, 11.505) && twice.rings.count == 1)
    let edge = SurfacePoint(Coordinate(latitude: 48.1, longitude: 11.5101))
    #expect(abs(twice.signedDistance(from: edge) - once.signedDistance(from: edge)) < 0.01)
  }

  @Test func aPartInsideAPartIsNoHole() throws {
    let polygon = try Polygon(parts: [[east], [inner]])
    #expect(isInside(polygon, 11.535) && isInside(polygon, 11.52) && polygon.rings.count == 1)
  }

  @Test func holesAreUnited() throws {
    let twice = try Polygon([east, inner, inner])
    #expect(!isInside(twice, 11.535) && isInside(twice, 11.52) && twice.rings.count == 2)
    let shifted = inner.map { Coordinate(latitude: $0.latitude, longitude: $0.longitude + 0.005) }
    let crossing = try Polygon([east, inner, shifted])
    #expect(!isInside(crossing, 11.532) && !isInside(crossing, 11.538) && !isInside(crossing, 11.543))
    #expect(isInside(crossing, 11.546) && crossing.rings.count == 2)
  }

  @Test func crossingPartsAreUnited() throws {
    let north = east.map { Coordinate(latitude: $0.latitude + 0.01, longitude: $0.longitude + 0.01) }
    let polygon = try Polygon(parts: [[east], [north]])
    #expect(
      isInside(polygon, 11.55) && isInside(polygon, 11.515, 48.095) && isInside(polygon, 11.565, 48.115))
    #expect(!isInside(polygon, 11.565, 48.095) && polygon.rings.count == 1 && polygon.rings[0].count == 8)
    // The former boundary inside the union is removed.
    let middle = SurfacePoint(Coordinate(latitude: 48.11, longitude: 11.54))
    #expect(polygon.signedDistance(from: middle) > 500)
    #expect(polygon.likelihood(at: middle, deviation: 100).isFalse < 1e-6)
  }

  @Test func partsWithACommonEdgeHaveNoSeam() throws {
    let next = east.map { Coordinate(latitude: $0.latitude, longitude: $0.longitude + 0.05) }
    let polygon = try Polygon(parts: [[east], [next]])
    // Vertices in the middle remain, since edges follow the shortest line.
    #expect(polygon.rings.count == 1 && polygon.rings[0].count == 6)
    #expect(
      polygon.likelihood(at: SurfacePoint(Coordinate(latitude: 48.1, longitude: 11.56)), deviation: 10)
        .isFalse < 1e-9)
  }

  /// A part fills the hole of another part, except for a hole of its own.
  @Test func aPartFillsTheHoleOfAnother() throws {
    let core = ring((11.534, 48.099), (11.536, 48.099), (11.536, 48.101), (11.534, 48.101))
    #expect(isInside(try Polygon(parts: [[east, inner], [inner]]), 11.535))
    let polygon = try Polygon(parts: [[east, inner], [inner, core]])
    #expect(!isInside(polygon, 11.535) && isInside(polygon, 11.532) && polygon.rings.count == 2)
  }

  @Test func aSelfCrossingRingIsRefusedAmongParts() {
    let bow = ring((11.52, 48.095), (11.55, 48.105), (11.55, 48.095), (11.52, 48.105))
    #expect(throws: PolygonError.self) { try Polygon(parts: [[east], [bow]]) }
    let across = ring((11.5, 48.095), (11.55, 48.095), (11.55, 48.105), (11.5, 48.105))
    #expect(throws: PolygonError.self) { try Polygon([east, across]) }
    #expect(throws: PolygonError.self) {
      func strip(_ longitudes: [Double]) -> [Coordinate] {
        longitudes.map { Coordinate(latitude: 48.09, longitude: $0) }
          + longitudes.reversed().map { Coordinate(latitude: 48.11, longitude: $0) }
      }
      // Two holes that cover the whole part. All have the same corners, so that their edges coincide.
      _ = try Polygon([
        strip([11.51, 11.53, 11.54, 11.56]), strip([11.51, 11.53, 11.54]), strip([11.53, 11.54, 11.56]),
      ])
    }
  }

  /// Random parts with holes, with any order and orientation of rings, some repeated, some with a common edge.
  @Test func randomPartsAgreeWithTheReference() throws {
    var random = SplitMix.announced()
    var (compared, united) = (0, 0)
    for _ in 0..<1500 {
      let center = random.coordinate()
      let scale = [30.0, 3000, 100_000][Int(random.uniform(0...2.99))]
      let parts = Self.parts(around: center, scale: scale, &random)
      let polygon = try Polygon(parts: parts)
      if polygon.rings.count != parts.reduce(0, { $0 + $1.count }) { united += 1 }
      for _ in 0..<20 {
        let place = center.destination(
          distance: scale * random.uniform(0...2.5), bearing: random.uniform(0...360))
        let point = SurfacePoint(place)
        guard abs(polygon.signedDistance(from: point)) > 1e-5 * scale,
          !Self.isNearEdge(place, parts, 1e-5 * scale)
        else { continue }
        compared += 1
        let expected = parts.contains { part in
          Self.winds(part[0], around: place) && !part.dropFirst().contains { Self.winds($0, around: place) }
        }
        #expect(polygon.contains(point) == expected, "\(place) in \(parts)")
        #expect((polygon.signedDistance(from: point) > 0) == expected)
        #expect(
          (polygon.likelihood(at: point, deviation: scale / 50).isTrue > 0.5) == expected
            || abs(polygon.signedDistance(from: point)) < scale / 10)
      }
    }
    #expect(compared > 20_000 && united > 500)
  }

  private static func parts(
    around center: Coordinate, scale: Double, _ random: inout SplitMix
  ) -> [[[Coordinate]]] {
    var parts: [[[Coordinate]]] = []
    for _ in 0..<Int(random.uniform(1...4.99)) {
      if let last = parts.last, random.uniform(0...1) < 0.15 {
        parts.append(last.map { Array($0.reversed()) })
        continue
      }
      let middle = center.destination(
        distance: scale * random.uniform(0...1), bearing: random.uniform(0...360))
      let count = Int(random.uniform(3...9.99))
      var part = [ring(around: middle, (0..<count).map { _ in scale * random.uniform(0.6...1) })]
      for _ in 0..<Int(random.uniform(0...2.99)) {
        // Small enough for any shape of the outer ring.
        let hole = middle.destination(
          distance: scale * random.uniform(0...0.08), bearing: random.uniform(0...360))
        part.append(ring(around: hole, (0..<4).map { _ in scale * random.uniform(0.05...0.15) }))
      }
      if random.uniform(0...1) < 0.5 { part[0].reverse() }
      parts.append(part)
    }
    return parts
  }

  /// True if the bearings of a ring's vertices turn once around a place. Rings are small, and edges straight.
  private static func winds(_ ring: [Coordinate], around place: Coordinate) -> Bool {
    let frame = Frame(place)
    let points = ring.map { frame.project($0) }
    var turned = 0.0
    for (index, a) in points.enumerated() {
      let b = points[(index + 1) % points.count]
      turned += atan2(a.0 * b.1 - a.1 * b.0, a.0 * b.0 + a.1 * b.1)
    }
    return abs(turned) > .pi
  }

  private static func isNearEdge(_ place: Coordinate, _ parts: [[[Coordinate]]], _ limit: Double) -> Bool {
    let frame = Frame(place)
    return parts.joined().contains { ring in
      let points = ring.map { frame.project($0) }
      return points.indices.contains { index in
        let (a, b) = (points[index], points[(index + 1) % points.count])
        let (x, y) = (b.0 - a.0, b.1 - a.1)
        let along = min(1, max(0, -(a.0 * x + a.1 * y) / max(x * x + y * y, 1e-12)))
        return hypot(a.0 + along * x, a.1 + along * y) < limit
      }
    }
  }

  /// Gnomonic projection from the Earth's centre, in metres around a place: great ellipses become straight lines.
  private struct Frame {
    private let up: Vector3
    private let (east, north): (Vector3, Vector3)

    init(_ place: Coordinate) {
      up = SurfacePoint(place).direction
      let axis = abs(up.z) < 0.9 ? Vector3(0, 0, 1) : Vector3(1, 0, 0)
      east = axis.cross(up).normalized ?? axis
      north = up.cross(east)
    }

    func project(_ coordinate: Coordinate) -> (Double, Double) {
      let direction = SurfacePoint(coordinate).direction
      let scale = 6_371_000 / direction.dot(up)
      return (direction.dot(east) * scale, direction.dot(north) * scale)
    }
  }
}
