internal import Glibc

/// An area on the earth's surface: a circle or a polygon.
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

  /// Returns the distance to the boundary in metres: positive inside, negative outside.
  public func signedDistance(from point: SurfacePoint) -> Double {
    switch self {
    case .circle(let circle): circle.signedDistance(from: point)
    case .polygon(let polygon): polygon.signedDistance(from: point)
    }
  }

  /// Returns the probability that a position lies inside the area, for a normal error with the standard
  /// deviation `deviation` (m, > 0) along each axis.
  public func likelihood(at point: SurfacePoint, deviation: Double) -> Likelihood {
    switch self {
    case .circle(let circle): circle.likelihood(at: point, deviation: deviation)
    case .polygon(let polygon): polygon.likelihood(at: point, deviation: deviation)
    }
  }

  /// Returns the points where the straight path from `start` to `end` crosses the boundary, as fractions of
  /// the path in ascending order.
  public func crossings(from start: SurfacePoint, to end: SurfacePoint) -> [Double] {
    switch self {
    case .circle(let circle): circle.crossings(from: start, to: end)
    case .polygon(let polygon): polygon.crossings(from: start, to: end)
    }
  }

  /// The diameter in metres of a circle that contains the area; slightly larger for polygons that span
  /// hundreds of kilometres.
  public var width: Double {
    switch self {
    case .circle(let circle): 2 * circle.radius
    case .polygon(let polygon): 2 * polygon.extent
    }
  }

  /// A bounding box in earth-centred space.
  public var bounds: SpaceBox {
    switch self {
    case .circle(let circle): circle.bounds
    case .polygon(let polygon): polygon.bounds
    }
  }
}

/// All points within a given distance of a centre.
public struct Circle: Hashable, Sendable {
  public let center: SurfacePoint
  /// Radius in metres along the surface.
  public let radius: Double

  /// The largest radius in metres: a quarter of the earth's circumference, so that the circle covers a
  /// hemisphere.
  public static let largestRadius = 10_001_965.0

  /// Creates a circle. Nil unless the centre is a valid coordinate and the radius is above 0 and at most
  /// `largestRadius`.
  public init?(center: Coordinate, radius: Double) {
    guard center.isValid, radius > 0, radius <= Self.largestRadius else { return nil }
    self.center = SurfacePoint(center)
    self.radius = radius
  }

  public func contains(_ point: SurfacePoint) -> Bool { signedDistance(from: point) > 0 }

  /// Returns the distance to the circle's boundary in metres, accurate to 0.01 %: positive inside, negative
  /// outside.
  public func signedDistance(from point: SurfacePoint) -> Double { radius - center.distance(to: point) }

  /// Returns the probability that a position lies inside the circle, for a normal error with the standard
  /// deviation `deviation` (m, > 0) east and north. Integrates over the chords perpendicular to the line to
  /// the centre.
  public func likelihood(at point: SurfacePoint, deviation: Double) -> Likelihood {
    let distance = center.distance(to: point) / deviation
    let radius = radius / deviation
    let isInside = distance < radius
    // Integrates by Simpson's rule over the angle between centre line and chord end, up to nine standard
    // deviations from the centre line.
    let reach = asin(min(1, 9 / radius))
    let steps = 64
    var sum = 0.0
    for step in 0...steps {
      let angle = reach * (2 * Double(step) / Double(steps) - 1)
      let (y, half) = (radius * sin(angle), radius * cos(angle))
      let ends =
        isInside
        ? NormalDistribution.upperTail(half + distance) + NormalDistribution.upperTail(half - distance)
        : NormalDistribution.upperTail(distance - half) - NormalDistribution.upperTail(distance + half)
      let weight = step == 0 || step == steps ? 1.0 : (step % 2 == 1 ? 4 : 2)
      sum += weight * exp(-0.5 * y * y) * ends * half
    }
    sum *= 2 * reach / Double(steps) / 3 / (2 * Double.pi).squareRoot()
    // Adds the probability beyond both ends of the range of chords, where the line of a chord misses the
    // circle.
    if isInside { sum += 2 * NormalDistribution.upperTail(radius) }
    return Likelihood(isInside, tail: sum)
  }

  /// Returns the points where the straight path from `start` to `end` crosses the circle, as fractions of the
  /// path in ascending order.
  public func crossings(from start: SurfacePoint, to end: SurfacePoint) -> [Double] {
    let isInside = (contains(start), contains(end))
    func side(_ fraction: Double) -> Bool {
      contains(start.interpolated(to: end, fraction: fraction))
    }
    func boundary(between low: Double, and high: Double, startsInside: Bool) -> Double {
      var (low, high) = (low, high)
      for _ in 0..<48 {
        let middle = 0.5 * (low + high)
        if side(middle) == startsInside { low = middle } else { high = middle }
      }
      return 0.5 * (low + high)
    }
    if isInside.0 != isInside.1 { return [boundary(between: 0, and: 1, startsInside: isInside.0)] }
    guard !isInside.0 else { return [] }
    // The point of the path nearest to the centre, computed on the straight chord in space. A fraction of the
    // chord is as accurate here as a fraction of the arc.
    let (a, b) = (start.position, end.position)
    let way = b - a
    let length = way.dot(way)
    guard length > 0 else { return [] }
    let nearest = min(1, max(0, (center.position - a).dot(way) / length))
    guard side(nearest) else { return [] }
    return [
      boundary(between: 0, and: nearest, startsInside: false),
      boundary(between: nearest, and: 1, startsInside: true),
    ]
  }
}
