internal import Glibc

/// A box along the axes of `SurfacePoint.position` (m): it knows neither antimeridian nor poles.
@frozen
public struct SpaceBox: Hashable, Sendable {
  public var least: Vector3
  public var most: Vector3

  public init(least: Vector3, most: Vector3) {
    self.least = least
    self.most = most
  }

  /// Around the shortest way over the surface between two places.
  public init(from start: SurfacePoint, to end: SurfacePoint) {
    let (a, b) = (start.position, end.position)
    let chord = (a - b).length
    self.init(least: pointwiseMin(a, b), most: pointwiseMax(a, b))
    // The way rises above the chord, at most by a quarter of the earth's circumference's arc.
    grow(by: chord * chord / 4 / WGS84.semiMinorAxis)
  }

  public mutating func grow(by metres: Double) {
    least -= Vector3(repeating: metres)
    most += Vector3(repeating: metres)
  }

  /// Metres in a straight line from a position to the box; zero within. No way over the surface is shorter.
  @inlinable
  public func distance(from position: Vector3) -> Double {
    pointwiseMax(pointwiseMax(least - position, position - most), Vector3(repeating: 0)).length
  }
}

extension Circle {
  var bounds: SpaceBox {
    // On the sphere of directions, whose unit is at least the semi-minor axis.
    let angle = min(.pi, radius / WGS84.semiMinorAxis)
    func extreme(_ component: Double, _ turn: Double) -> Double {
      cos(min(.pi, max(0, acos(min(1, max(-1, component))) + turn)))
    }
    let d = center.direction
    let scale = SurfacePoint.scale
    return SpaceBox(
      least: Vector3(extreme(d.x, angle), extreme(d.y, angle), extreme(d.z, angle)) * scale,
      most: Vector3(extreme(d.x, -angle), extreme(d.y, -angle), extreme(d.z, -angle)) * scale)
  }
}

extension Polygon {
  var bounds: SpaceBox {
    var box = SpaceBox(
      least: Vector3(repeating: .infinity), most: Vector3(repeating: -.infinity))
    for point in points where point.x == point.x {
      let position = plane.point(at: SIMD2<Double>(point)).position
      box.least = pointwiseMin(box.least, position)
      box.most = pointwiseMax(box.most, position)
    }
    // The surface bulges out of the vertices' hull by what lies between a cap and its base.
    let angle = atan(extent / GnomonicPlane.radius)
    box.grow(by: WGS84.semiMajorAxis * (1 - cos(angle)))
    return box
  }
}

extension SurfacePoint {
  static let scale = Vector3(WGS84.semiMajorAxis, WGS84.semiMajorAxis, WGS84.semiMinorAxis)
}
