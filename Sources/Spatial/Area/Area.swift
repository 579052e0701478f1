/// A circle or a polygon.
public enum Area: Hashable, Sendable {
  case circle(Circle)
  case polygon(Polygon)

  @inlinable
  public func contains(_ point: SurfacePoint) -> Bool {
    switch self {
    case .circle(let circle): circle.contains(point)
    case .polygon(let polygon): polygon.contains(point)
    }
  }

  /// Metres to the boundary, positive inside and negative outside.
  public func signedDistance(from point: SurfacePoint) -> Double {
    switch self {
    case .circle(let circle): circle.signedDistance(from: point)
    case .polygon(let polygon): polygon.signedDistance(from: point)
    }
  }

  /// How likely a position lies inside whose error is normal with a standard deviation (m, more than 0) along each axis.
  public func likelihood(at point: SurfacePoint, deviation: Double) -> Likelihood {
    switch self {
    case .circle(let circle): circle.likelihood(at: point, deviation: deviation)
    case .polygon(let polygon): polygon.likelihood(at: point, deviation: deviation)
    }
  }

  /// Where the straight way between two places meets the boundary, as fractions of it in ascending order.
  public func crossings(from start: SurfacePoint, to end: SurfacePoint) -> [Double] {
    switch self {
    case .circle(let circle): circle.crossings(from: start, to: end)
    case .polygon(let polygon): polygon.crossings(from: start, to: end)
    }
  }

  /// Metres: the diameter of a circle that holds all of it; of polygons of hundreds of kilometres, somewhat more.
  public var width: Double {
    switch self {
    case .circle(let circle): 2 * circle.radius
    case .polygon(let polygon): 2 * polygon.extent
    }
  }

  /// A box in space that holds all of it.
  public var bounds: SpaceBox {
    switch self {
    case .circle(let circle): circle.bounds
    case .polygon(let polygon): polygon.bounds
    }
  }
}
