internal import Glibc

/// An area bounded by great ellipses, with any number of parts and holes. It may cross the antimeridian or
/// contain a pole.
///
/// Vertices are stored as single-precision offsets in a plane that touches the earth at the polygon's centre,
/// where edges are straight lines. A vertex needs 8 bytes and has a resolution of one ten-millionth of the
/// polygon's extent (0.1 mm at 1 km).
public struct Polygon: Hashable, Sendable {
  let plane: GnomonicPlane
  /// The vertices in the plane, in metres. Each ring is closed by its first vertex and followed by a
  /// separator. The area is to the left of every edge, including those of holes.
  let points: [SIMD2<Float>]
  /// The distance in metres in the plane from the contact point to the farthest vertex.
  let extent: Double
  /// The distance in metres in the plane from the contact point to the boundary. A nearer point needs no test
  /// against the edges.
  private var clearance = 0.0
  private var holdsContact = false

  /// A separator between rings. NaN compares false with everything, so edges to and from it never match.
  static let separator = SIMD2<Float>(.nan, .nan)

  /// - Parameter rings: the outer boundary, then its holes. Rings may be closed or open, clockwise or
  ///   counterclockwise.
  public init(_ rings: [[Coordinate]]) throws(PolygonError) {
    try self.init(parts: [rings])
  }

  /// The union of several parts. Overlapping parts and overlapping holes of one part are united.
  /// - Parameter parts: each an outer boundary and its holes. Errors count the rings of all parts, from 0.
  /// - Throws: `PolygonError` for a ring that crosses itself or a hole that crosses its boundary.
  public init(parts: [[[Coordinate]]]) throws(PolygonError) {
    let built = try PolygonBuilder(parts)
    plane = built.plane
    points = built.points
    extent = built.extent
    var squared = Double.infinity
    forEachEdge { squared = min(squared, Self.squaredDistanceFromOrigin($0, $1)) }
    // The clearance is reduced by the rounding error of the single-precision vertices.
    clearance = max(0, squared.squareRoot() - 1e-6 * extent)
    holdsContact = contains(SIMD2<Float>(0, 0))
  }

  /// Returns whether the point lies inside the polygon and outside its holes.
  public func contains(_ point: SurfacePoint) -> Bool {
    guard let place = plane.project(point) else { return false }
    let squared = place.squaredLength
    if squared < clearance * clearance { return holdsContact }
    if squared > extent * extent { return false }
    return contains(SIMD2<Float>(place))
  }

  public func contains(_ coordinate: Coordinate) -> Bool { contains(SurfacePoint(coordinate)) }

  /// Returns whether a point of the plane is inside: a ray to the right then crosses an odd number of edges.
  private func contains(_ p: SIMD2<Float>) -> Bool {
    points.withUnsafeBufferPointer { points in
      guard var a = points.first else { return false }
      var isInside = false
      var isAboveA = a.y > p.y
      for b in points.dropFirst() {
        let isAboveB = b.y > p.y
        if isAboveA != isAboveB, Self.isLeft(p, a, b) == isAboveB, b.y == b.y {
          isInside.toggle()
        }
        (a, isAboveA) = (b, isAboveB)
      }
      return isInside
    }
  }

  @inline(__always)
  private static func isLeft(_ p: SIMD2<Float>, _ a: SIMD2<Float>, _ b: SIMD2<Float>) -> Bool {
    (b.x - a.x) * (p.y - a.y) > (p.x - a.x) * (b.y - a.y)
  }

  /// Calls `body` with the two end points of each edge in the plane.
  @inline(__always)
  func forEachEdge(_ body: (SIMD2<Double>, SIMD2<Double>) -> Void) {
    points.withUnsafeBufferPointer { points in
      guard var a = points.first else { return }
      for b in points.dropFirst() {
        if a.x == a.x, b.x == b.x { body(SIMD2<Double>(a), SIMD2<Double>(b)) }
        a = b
      }
    }
  }

  /// The vertices of each ring, without the closing vertex. The area is to the left of every edge.
  public var rings: [[Coordinate]] {
    points.split { $0.x.isNaN }.map { ring in
      ring.dropLast().map { plane.point(at: SIMD2<Double>($0)).coordinate }
    }
  }
}

extension Polygon {
  /// The distance in metres up to which the metric of one point is accurate enough for the edges around it.
  private static let nearby = 1000.0

  /// Returns the distance to the nearest point of the boundary in metres: positive inside, negative outside.
  ///
  /// Accurate to 0.1 % of the geodesic distance; near the boundary, to 1 mm and 0.01 %.
  public func signedDistance(from point: SurfacePoint) -> Double {
    guard let place = plane.project(point) else { return -distantDistance(from: point) }
    let metric = plane.metric(at: point)
    var nearest = Double.infinity
    var isInside = false
    forEachEdge { a, b in
      let (a, b) = (metric(a - place), metric(b - place))
      if let side = Self.rayCrossing(a, b), side { isInside.toggle() }
      nearest = min(nearest, Self.squaredDistanceFromOrigin(a, b))
    }
    let distance = nearest < Self.nearby * Self.nearby ? nearest.squareRoot() : distantDistance(from: point)
    return isInside ? distance : -distance
  }

  /// Returns whether the upward ray from the origin crosses an edge; nil if both ends of the edge are on one
  /// side of the ray's line. The result depends on the sign of the product that `likelihood` uses, so that
  /// containment and probability agree on the boundary.
  @inline(__always)
  static func rayCrossing(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Bool? {
    guard (a.x > 0) != (b.x > 0) else { return nil }
    return (a.x * b.y - a.y * b.x > 0) == (a.x > 0)
  }

  @inline(__always)
  static func squaredDistanceFromOrigin(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Double {
    let edge = b - a
    let length = edge.squaredLength
    let along = length > 0 ? -(a.x * edge.x + a.y * edge.y) / length : 0
    return (a + edge * min(1, max(0, along))).squaredLength
  }

  /// Computes the distance on the sphere, for a point that the plane cannot represent. For each edge, the
  /// nearest point is the foot of the perpendicular or an end point.
  private func distantDistance(from point: SurfacePoint) -> Double {
    let p = point.direction
    let position = point.position
    var nearest = SurfacePoint(direction: p)
    var leastChord = Double.infinity
    func consider(_ candidate: SurfacePoint) {
      let chord = (candidate.position - position).length
      if chord < leastChord { (leastChord, nearest) = (chord, candidate) }
    }
    forEachEdge { first, second in
      let (a, b) = (plane.point(at: first), plane.point(at: second))
      consider(a)
      let normal = a.direction.cross(b.direction)
      let foot = p - normal * (p.dot(normal) / normal.dot(normal))
      if normal.cross(a.direction).dot(foot) > 0, b.direction.cross(normal).dot(foot) > 0,
        let direction = foot.normalized
      {
        consider(SurfacePoint(direction: direction))
      }
    }
    return point.distance(to: nearest)
  }

  /// Returns the points where the straight path from `start` to `end` crosses the boundary, as fractions of
  /// the path in ascending order.
  public func crossings(from start: SurfacePoint, to end: SurfacePoint) -> [Double] {
    guard let p = plane.project(start), let q = plane.project(end) else { return [] }
    let way = q - p
    // The projection stretches distances away from the contact point, so the fractions are corrected.
    let (w, v) = (1 / plane.cosine(to: start), 1 / plane.cosine(to: end))
    var fractions: [Double] = []
    forEachEdge { a, b in
      let (sideA, sideB) = (Self.cross(way, a - p), Self.cross(way, b - p))
      guard (sideA > 0) != (sideB > 0) else { return }
      let edge = b - a
      let fraction = Self.cross(a - p, edge) / Self.cross(way, edge)
      guard fraction >= 0, fraction <= 1 else { return }
      fractions.append(fraction * v / ((1 - fraction) * w + fraction * v))
    }
    fractions.sort()
    return fractions
  }

  @inline(__always)
  private static func cross(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Double { a.x * b.y - a.y * b.x }
}

extension Polygon {
  /// Returns the probability that a position lies inside the polygon, for a normal error with the same
  /// standard deviation east and north.
  ///
  /// Exact in the plane: each edge and the position span a triangle, and the probability beyond the edge is
  /// the sum of two Owen's T functions (Owen 1956). The sum over all edges accounts for holes and parts.
  ///
  /// - Parameter deviation: the standard deviation along one axis in metres, more than 0.
  public func likelihood(at point: SurfacePoint, deviation: Double) -> Likelihood {
    guard let place = plane.project(point) else { return .impossible }
    let metric = plane.metric(at: point)
    var isInside = false
    // The probability on the other side of the boundary. It is negative if the position is outside.
    var beyond = 0.0
    forEachEdge { first, second in
      let (a, b) = (metric(first - place) / deviation, metric(second - place) / deviation)
      if let side = Self.rayCrossing(a, b), side { isInside.toggle() }
      guard Self.squaredDistanceFromOrigin(a, b) < Self.farSquared else { return }
      let edge = b - a
      let length = edge.squaredLength.squareRoot()
      let area = a.x * b.y - a.y * b.x
      let h = max(abs(area) / length, 1e-12)
      let (from, to) = ((a.x * edge.x + a.y * edge.y) / length, (b.x * edge.x + b.y * edge.y) / length)
      let share = NormalDistribution.owenT(h, to / h) - NormalDistribution.owenT(h, from / h)
      beyond += area > 0 ? share : -share
    }
    return Likelihood(isInside, tail: isInside ? beyond : -beyond)
  }

  /// The square of nine standard deviations. Edges beyond that distance contribute nothing to the
  /// probability.
  private static let farSquared = 81.0
}
