internal import Glibc

/// A place on the WGS 84 ellipsoid as a direction: no antimeridian, no poles.
///
/// The direction is that of the reduced latitude, so that the ellipsoid is the unit sphere stretched along its axes.
/// Great circles of that sphere are the great ellipses of the earth (plane sections through its centre), which stay
/// within 7 mm of the geodesic over 10 km, 0.7 m over 100 km and 70 m over 1000 km.
@frozen
public struct SurfacePoint: Hashable, Sendable {
  /// Of length one; x towards 0° east, y towards 90° east, z towards the north pole.
  public var direction: Vector3

  @inlinable
  init(direction: Vector3) {
    self.direction = direction
  }

  public init(_ coordinate: Coordinate) {
    let (phi, lambda) = (coordinate.latitude.radians, coordinate.longitude.radians)
    let (c, s) = (cos(phi), (1 - WGS84.flattening) * sin(phi))
    let length = (c * c + s * s).squareRoot()
    direction = Vector3(c * cos(lambda), c * sin(lambda), s) / length
  }

  public var coordinate: Coordinate {
    let d = direction
    let axial = (d.x * d.x + d.y * d.y).squareRoot()
    return Coordinate(
      latitude: atan2(d.z, (1 - WGS84.flattening) * axial).degrees, longitude: atan2(d.y, d.x).degrees)
  }

  /// Metres from the earth's centre, earth-centred and earth-fixed.
  public var position: Vector3 {
    direction * Self.scale
  }

  /// Metres along the surface, to 0.01 % of the geodesic: up to 2000 km from the chord, beyond by `Coordinate`.
  public func distance(to other: SurfacePoint) -> Double {
    let chord = (position - other.position).length
    guard chord < 2e6 else { return coordinate.distance(to: other.coordinate) }
    let diameter = 2 * 6_371_008.8
    return diameter * asin(chord / diameter)
  }

  /// The place at a fraction of the way to another, along the chord; for ways of up to 1000 km also of the time.
  public func interpolated(to other: SurfacePoint, fraction: Double) -> SurfacePoint {
    let mixed = direction * (1 - fraction) + other.direction * fraction
    return SurfacePoint(direction: mixed.normalized ?? direction)
  }

  /// East and north here, and metres that a unit of the sphere has in each.
  var axes: (east: Vector3, north: Vector3, metresEast: Double, metresNorth: Double) {
    let d = direction
    let axialSquared = d.x * d.x + d.y * d.y
    let axial = axialSquared.squareRoot()
    let east = axial > 1e-12 ? Vector3(-d.y / axial, d.x / axial, 0) : Vector3(0, 1, 0)
    let (a, b) = (WGS84.semiMajorAxis, WGS84.semiMinorAxis)
    return (east, d.cross(east), a, (a * a * d.z * d.z + b * b * axialSquared).squareRoot())
  }
}
