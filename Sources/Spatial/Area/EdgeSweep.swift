/// Finds edges that cross, by a sweep from the left over the edges' spans.
enum EdgeSweep {
  struct Edge {
    var ring: Int
    /// The first vertex, as given.
    var vertex: Int
    var a, b: SIMD2<Double>
    var left: Double { min(a.x, b.x) }
    var right: Double { max(a.x, b.x) }
  }

  /// Two edges whose insides cross; edges that only touch do not. Nil for none.
  static func firstCrossing(of rings: [PlaneRing]) -> (first: Edge, second: Edge, place: SIMD2<Double>)? {
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
        if let place = crossing(edge, other) { return (edge, other, place) }
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

  /// Twice the area of the triangle; exact for the single-precision coordinates of small polygons.
  private static func side(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ p: SIMD2<Double>) -> Double {
    (b.x - a.x) * (p.y - a.y) - (p.x - a.x) * (b.y - a.y)
  }
}
