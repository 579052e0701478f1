internal import Glibc

/// Checks rings of coordinates, projects them on a plane, and unites overlapping parts.
struct PolygonBuilder {
  let plane: GnomonicPlane
  private(set) var points: [SIMD2<Float>] = []
  private(set) var extent = 0.0

  /// The distance in metres below which two vertices are merged.
  private static let tolerance: Float = 1e-3

  init(_ parts: [[[Coordinate]]]) throws(PolygonError) {
    guard !parts.isEmpty, parts.allSatisfy({ !$0.isEmpty }) else { throw .noRing }
    var sum = Vector3(0, 0, 0)
    var directions: [[SurfacePoint]] = []
    for ring in parts.joined() {
      for (vertex, coordinate) in ring.enumerated() where !coordinate.isValid {
        throw .invalidCoordinate(ring: directions.count, vertex: vertex)
      }
      let points = ring.map { SurfacePoint($0) }
      for point in points { sum += point.direction }
      directions.append(points)
    }
    // The polygon is projected around the mean direction of its vertices. If they lie all around the earth,
    // there is none.
    let count = Double(directions.reduce(0) { $0 + $1.count })
    guard count > 0 else { throw .tooFewVertices(ring: 0) }
    guard sum.length > 0.25 * count, let middle = sum.normalized else { throw .tooLarge }
    plane = GnomonicPlane(contact: SurfacePoint(direction: middle))

    var rings: [PlaneRing] = []
    // For each hole, the index of its outer ring.
    var holes: [Int?] = []
    for part in parts {
      let outer = rings.count
      for index in part.indices {
        rings.append(try ring(directions[rings.count], number: rings.count))
        holes.append(index > 0 ? outer : nil)
      }
    }
    // Different parts may overlap, and so may holes of one part.
    let crossing = EdgeSweep.firstCrossing(of: rings) { i, j in
      i == j || holes[i] == j || holes[j] == i
    }
    if let crossing {
      let (first, second) = (crossing.first, crossing.second)
      throw .selfCrossing(
        ring: first.ring, edge: first.vertex, otherRing: second.ring, otherEdge: second.vertex,
        at: plane.point(at: crossing.place).coordinate)
    }
    for index in rings.indices {
      try rings[index].turn(isHole: holes[index] != nil)
      if let outer = holes[index], !rings[outer].holds(rings[index]) { throw .holeOutside(ring: index) }
      for point in rings[index].points {
        extent = max(extent, SIMD2<Double>(point).squaredLength.squareRoot())
      }
    }
    var boundary = rings.map(\.points)
    if PolygonUnion.isNeeded(rings, holes: holes) {
      var union = PolygonUnion(rings, holes: holes, extent: extent)
      guard let rings = union.boundary() else { throw .tooManyCrossings }
      guard !rings.isEmpty else { throw .zeroArea(ring: 0) }
      boundary = rings
      // The union rounds vertices to a grid, so that a vertex may lie half a grid step farther out.
      extent *= 1 + 1e-6
    }
    points.reserveCapacity(boundary.reduce(0) { $0 + $1.count + 2 })
    for ring in boundary {
      points += ring
      points.append(ring[0])
      points.append(Polygon.separator)
    }
    points.removeLast()
  }

  private func ring(_ directions: [SurfacePoint], number: Int) throws(PolygonError) -> PlaneRing {
    var ring = PlaneRing(number: number)
    for (vertex, direction) in directions.enumerated() {
      guard let place = plane.project(direction) else { throw .tooLarge }
      ring.append(SIMD2<Float>(place), vertex: vertex, tolerance: Self.tolerance)
    }
    let different = ring.points.count
    ring.close(tolerance: Self.tolerance)
    guard different >= 3 else { throw .tooFewVertices(ring: number) }
    guard ring.points.count >= 3 else { throw .zeroArea(ring: number) }
    return ring
  }
}

/// An unclosed ring in the plane.
struct PlaneRing {
  let number: Int
  private(set) var points: [SIMD2<Float>] = []
  /// Index in the original ring for each point.
  private(set) var vertices: [Int] = []

  /// Appends a point. Drops a repeated vertex, and both edges of a spike that leads out and back, as rings
  /// around a pole have in GeoJSON.
  mutating func append(_ point: SIMD2<Float>, vertex: Int, tolerance: Float) {
    if let last = points.last, (last - point).squaredLength <= tolerance * tolerance { return }
    if points.count >= 2, (points[points.count - 2] - point).squaredLength <= tolerance * tolerance {
      points.removeLast()
      vertices.removeLast()
      return
    }
    points.append(point)
    vertices.append(vertex)
  }

  mutating func close(tolerance: Float) {
    let limit = tolerance * tolerance
    while points.count > 1, (points[0] - points[points.count - 1]).squaredLength <= limit {
      points.removeLast()
      vertices.removeLast()
    }
    while points.count > 2 {
      if (points[1] - points[points.count - 1]).squaredLength <= limit {
        points.removeFirst(2)
        vertices.removeFirst(2)
      } else if (points[0] - points[points.count - 2]).squaredLength <= limit {
        points.removeLast(2)
        vertices.removeLast(2)
      } else {
        break
      }
    }
  }

  /// Orients the ring: the area is to the left of the edges, for a hole to the right.
  mutating func turn(isHole: Bool) throws(PolygonError) {
    let (area, span) = (signedArea, span)
    // An area narrower than a millimetre, or than a millionth of the ring's span, is a rounding error.
    guard abs(area) > max(1e-3 * span, 1e-6 * span * span) else { throw .zeroArea(ring: number) }
    guard (area > 0) == isHole else { return }
    points.reverse()
    vertices.reverse()
    // An edge is numbered by its first vertex in the original order. After the reversal that vertex is the
    // edge's second one, so the numbers are shifted by one.
    vertices.append(vertices.removeFirst())
  }

  /// The area in m²: positive if it is to the left of the edges.
  var signedArea: Double {
    guard let origin = points.first.map({ SIMD2<Double>($0) }) else { return 0 }
    var sum = 0.0
    for index in points.indices {
      let a = SIMD2<Double>(points[index]) - origin
      let b = SIMD2<Double>(points[(index + 1) % points.count]) - origin
      sum += a.x * b.y - a.y * b.x
    }
    return sum / 2
  }

  /// The diameter in metres.
  var span: Double {
    guard let first = points.first else { return 0 }
    return points.reduce(0) { max($0, SIMD2<Double>($1 - first).squaredLength.squareRoot()) }
  }

  /// Returns whether the ring contains a vertex of another ring. The two rings must not cross.
  func holds(_ other: PlaneRing) -> Bool {
    other.points.contains { p in
      var isInside = false
      for index in points.indices {
        let (a, b) = (points[index], points[(index + 1) % points.count])
        if (a.y > p.y) != (b.y > p.y),
          ((b.x - a.x) * (p.y - a.y) > (p.x - a.x) * (b.y - a.y)) == (b.y > p.y)
        {
          isInside.toggle()
        }
      }
      return isInside
    }
  }
}

extension SIMD2 where Scalar: FloatingPoint {
  @inline(__always) var squaredLength: Scalar { x * x + y * y }
}

/// A reason why rings of coordinates do not form a polygon. Rings and vertices are numbered from 0 in the
/// given order.
public enum PolygonError: Error, Hashable, Sendable, CustomStringConvertible {
  case noRing
  case invalidCoordinate(ring: Int, vertex: Int)
  /// The ring has fewer than three vertices that differ by more than a millimetre.
  case tooFewVertices(ring: Int)
  case zeroArea(ring: Int)
  /// Two edges cross. Each is named by its first vertex.
  case selfCrossing(ring: Int, edge: Int, otherRing: Int, otherEdge: Int, at: Coordinate)
  /// The polygon extends more than 60° (6670 km) from the mean of its vertices.
  case tooLarge
  case holeOutside(ring: Int)
  /// The edges of different parts cross about a million times.
  case tooManyCrossings

  public var description: String {
    switch self {
    case .noRing: "has no ring; give at least three vertices"
    case .invalidCoordinate(let ring, let vertex):
      "vertex \(vertex) of ring \(ring) has invalid coordinates; give longitude -180 to 180 and latitude -90 to 90"
    case .tooFewVertices(let ring): "ring \(ring) has fewer than three different vertices"
    case .zeroArea(let ring): "ring \(ring) encloses no area; its vertices lie on a line"
    case .selfCrossing(let ring, let edge, let otherRing, let otherEdge, let place):
      "edge \(edge) of ring \(ring) crosses edge \(otherEdge) of ring \(otherRing) near latitude \(place.latitude), "
        + "longitude \(place.longitude); put the vertices in order along the boundary"
    case .tooLarge: "reaches more than 6670 km from its middle; split it"
    case .holeOutside(let ring): "ring \(ring) is a hole outside of its outer ring"
    case .tooManyCrossings: "the edges of its parts cross too often; merge the parts into one polygon"
    }
  }
}

/// A sweep from left to right that finds crossing edges.
enum EdgeSweep {
  struct Edge {
    var ring: Int
    /// The index of the first vertex in the given order.
    var vertex: Int
    var a, b: SIMD2<Double>
    var left: Double { min(a.x, b.x) }
    var right: Double { max(a.x, b.x) }
  }

  /// Returns two edges that cross in their interiors and the point where they cross; nil if there are none.
  /// Edges that only touch do not cross.
  /// - Parameter isChecked: returns whether the edges of two rings, given by their numbers, are compared.
  static func firstCrossing(
    of rings: [PlaneRing], isChecked: (Int, Int) -> Bool
  ) -> (first: Edge, second: Edge, place: SIMD2<Double>)? {
    var edges: [Edge] = []
    edges.reserveCapacity(rings.reduce(0) { $0 + $1.points.count })
    for ring in rings {
      for index in ring.points.indices {
        edges.append(
          Edge(
            ring: ring.number, vertex: ring.vertices[index], a: SIMD2<Double>(ring.points[index]),
            b: SIMD2<Double>(ring.points[(index + 1) % ring.points.count])))
      }
    }
    edges.sort { $0.left < $1.left }
    for (index, edge) in edges.enumerated() {
      let right = edge.right
      for other in edges[(index + 1)...] {
        if other.left > right { break }
        if isChecked(edge.ring, other.ring), let place = crossing(edge, other) { return (edge, other, place) }
      }
    }
    return nil
  }

  private static func crossing(_ e: Edge, _ f: Edge) -> SIMD2<Double>? {
    if max(e.a.y, e.b.y) < min(f.a.y, f.b.y) || min(e.a.y, e.b.y) > max(f.a.y, f.b.y) { return nil }
    let (s, t) = (side(e.a, e.b, f.a), side(e.a, e.b, f.b))
    guard s * t < 0 else { return nil }
    let (u, v) = (side(f.a, f.b, e.a), side(f.a, f.b, e.b))
    guard u * v < 0 else { return nil }
    return e.a + (e.b - e.a) * (u / (u - v))
  }

  /// Twice the signed area of the triangle; exact for the single-precision coordinates of small polygons.
  private static func side(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ p: SIMD2<Double>) -> Double {
    (b.x - a.x) * (p.y - a.y) - (p.x - a.x) * (b.y - a.y)
  }
}
