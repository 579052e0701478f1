/// An area bounded by great ellipses, with holes, of one part or several. It may lie across the antimeridian or hold a
/// pole.
///
/// The vertices are kept as single-precision offsets in a plane that touches the earth in the polygon's middle, where
/// edges are straight: 8 bytes a vertex, to a ten-millionth of the polygon's extent (0.1 mm at 1 km).
public struct Polygon: Hashable, Sendable {
  let plane: GnomonicPlane
  /// Metres in the plane. Each ring is closed by its first vertex and followed by a separator; the area is to the left
  /// of every edge, of holes too.
  let points: [SIMD2<Float>]
  /// Metres in the plane from its contact to the farthest vertex.
  let extent: Double
  /// Metres in the plane from its contact to the boundary: no vertex needs looking at for a place nearer than this.
  private var clearance = 0.0
  private var holdsContact = false

  /// Compares false with everything, so that an edge to or from it is never met.
  static let separator = SIMD2<Float>(.nan, .nan)

  /// - Parameter rings: the outer boundary, then its holes; closed or not, in either sense.
  public init(_ rings: [[Coordinate]]) throws(PolygonError) {
    try self.init(parts: [rings])
  }

  /// - Parameter parts: polygons that do not overlap, each an outer boundary and its holes. Rings are counted through.
  public init(parts: [[[Coordinate]]]) throws(PolygonError) {
    let built = try PolygonBuilder(parts)
    plane = built.plane
    points = built.points
    extent = built.extent
    var squared = Double.infinity
    forEachEdge { squared = min(squared, Self.squaredDistanceFromOrigin($0, $1)) }
    // Less what single precision may be wrong by.
    clearance = max(0, squared.squareRoot() - 1e-6 * extent)
    holdsContact = contains(SIMD2<Float>(0, 0))
  }

  /// Whether the place lies in the polygon and in none of its holes.
  public func contains(_ point: SurfacePoint) -> Bool {
    guard let place = plane.project(point) else { return false }
    let squared = place.squaredLength
    if squared < clearance * clearance { return holdsContact }
    if squared > extent * extent { return false }
    return contains(SIMD2<Float>(place))
  }

  public func contains(_ coordinate: Coordinate) -> Bool { contains(SurfacePoint(coordinate)) }

  /// Counts the edges that a ray to the right meets.
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

  /// Calls for each edge with its ends in the plane.
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

  /// Every ring's vertices, unclosed, the area to the left of every edge.
  public var rings: [[Coordinate]] {
    points.split { $0.x.isNaN }.map { ring in
      ring.dropLast().map { plane.point(at: SIMD2<Double>($0)).coordinate }
    }
  }
}
