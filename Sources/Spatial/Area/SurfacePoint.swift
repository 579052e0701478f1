internal import Glibc

/// A point on the WGS 84 ellipsoid as a direction, without special cases at the antimeridian and the poles.
///
/// The direction is that of the reduced latitude, so that the ellipsoid is the unit sphere stretched along
/// its axes. Great circles of that sphere are great ellipses of the earth (plane sections through its
/// centre). They deviate from the geodesic by at most 7 mm over 10 km, 0.7 m over 100 km and 70 m over 1000
/// km.
@frozen
public struct SurfacePoint: Hashable, Sendable {
  /// A unit vector: x points to 0° east, y to 90° east, z to the north pole.
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

  /// The position in metres, earth-centred and earth-fixed.
  public var position: Vector3 {
    direction * Self.scale
  }

  /// Returns the distance along the surface in metres, within 0.01 % of the geodesic. Computed from the chord
  /// up to 2000 km, from `Coordinate` beyond.
  public func distance(to other: SurfacePoint) -> Double {
    let chord = (position - other.position).length
    guard chord < 2e6 else { return coordinate.distance(to: other.coordinate) }
    let diameter = 2 * 6_371_008.8
    return diameter * asin(chord / diameter)
  }

  /// Returns the point at a fraction of the chord to another point. Over paths up to 1000 km it is also the
  /// position at that fraction of the time.
  public func interpolated(to other: SurfacePoint, fraction: Double) -> SurfacePoint {
    let mixed = direction * (1 - fraction) + other.direction * fraction
    return SurfacePoint(direction: mixed.normalized ?? direction)
  }

  /// The east and north directions at this point, and the metres per unit of the sphere along each.
  var axes: (east: Vector3, north: Vector3, metresEast: Double, metresNorth: Double) {
    let d = direction
    let axialSquared = d.x * d.x + d.y * d.y
    let axial = axialSquared.squareRoot()
    let east = axial > 1e-12 ? Vector3(-d.y / axial, d.x / axial, 0) : Vector3(0, 1, 0)
    let (a, b) = (WGS84.semiMajorAxis, WGS84.semiMinorAxis)
    return (east, d.cross(east), a, (a * a * d.z * d.z + b * b * axialSquared).squareRoot())
  }
}

/// A gnomonic projection: a plane that touches the earth at a point, projected from the earth's centre. Great
/// ellipses become straight lines. Coordinates are metres at the contact point; the scale grows with the
/// distance from it.
struct GnomonicPlane: Hashable, Sendable {
  private let sinLatitude, cosLatitude, sinLongitude, cosLongitude: Double

  static let radius = WGS84.semiMajorAxis
  /// The cosine of 60°, the largest angle from the contact point at which the plane is used.
  static let leastCosine = 0.5

  init(contact: SurfacePoint) {
    let d = contact.direction
    let axial = (d.x * d.x + d.y * d.y).squareRoot()
    (sinLatitude, cosLatitude) = (d.z, axial)
    (sinLongitude, cosLongitude) = axial > 1e-12 ? (d.y / axial, d.x / axial) : (0, 1)
  }

  var contact: SurfacePoint {
    SurfacePoint(
      direction: Vector3(cosLatitude * cosLongitude, cosLatitude * sinLongitude, sinLatitude))
  }

  var east: Vector3 { Vector3(-sinLongitude, cosLongitude, 0) }

  var north: Vector3 {
    Vector3(-sinLatitude * cosLongitude, -sinLatitude * sinLongitude, cosLatitude)
  }

  /// Projects a point onto the plane; nil if it is more than 60° from the contact point.
  @inline(__always)
  func project(_ point: SurfacePoint) -> SIMD2<Double>? {
    let d = point.direction
    let axial = cosLongitude * d.x + sinLongitude * d.y
    let height = cosLatitude * axial + sinLatitude * d.z
    guard height > Self.leastCosine else { return nil }
    let scale = Self.radius / height
    return SIMD2(
      (cosLongitude * d.y - sinLongitude * d.x) * scale, (cosLatitude * d.z - sinLatitude * axial) * scale)
  }

  /// Returns the cosine of the angle between a point and the contact point.
  func cosine(to point: SurfacePoint) -> Double { contact.direction.dot(point.direction) }

  func point(at place: SIMD2<Double>) -> SurfacePoint {
    let (x, y) = (place.x / Self.radius, place.y / Self.radius)
    let direction = contact.direction + east * x + north * y
    return SurfacePoint(direction: direction / (1 + x * x + y * y).squareRoot())
  }

  /// Returns the map from a small step in the plane at a point to metres east and north.
  func metric(at point: SurfacePoint) -> PlaneMetric {
    let axes = point.axes
    let scale = cosine(to: point) / Self.radius
    return PlaneMetric(
      x: SIMD2(
        axes.east.dot(east) * axes.metresEast, axes.north.dot(east) * axes.metresNorth) * scale,
      y: SIMD2(
        axes.east.dot(north) * axes.metresEast, axes.north.dot(north) * axes.metresNorth) * scale)
  }
}

/// A linear map from steps in a plane to metres.
struct PlaneMetric {
  /// The images in metres of a unit step along each axis of the plane.
  var x, y: SIMD2<Double>

  @inline(__always)
  func callAsFunction(_ step: SIMD2<Double>) -> SIMD2<Double> { x * step.x + y * step.y }
}
