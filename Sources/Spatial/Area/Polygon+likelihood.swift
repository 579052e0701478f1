extension Polygon {
  /// How likely a position lies in the polygon whose error is normal with the same standard deviation east and north.
  ///
  /// Exact in the plane: each edge with the position spans a triangle, and the normal distribution over what lies beyond
  /// the edge is two of Owen's T functions (Owen 1956); the sum over all edges counts holes and parts as they are.
  ///
  /// - Parameter deviation: metres, more than 0, one standard deviation along one axis.
  public func likelihood(at point: SurfacePoint, deviation: Double) -> Likelihood {
    guard let place = plane.project(point) else { return .impossible }
    let metric = plane.metric(at: point)
    var isInside = false
    // What lies beyond the boundary, seen from inside; its negative, seen from outside.
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

  /// Nine standard deviations, squared.
  private static let farSquared = 81.0
}
