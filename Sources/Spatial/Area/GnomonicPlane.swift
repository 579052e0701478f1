/// A plane that touches the earth at a place, onto which its neighbourhood is projected from the centre: great ellipses
/// become straight lines. Coordinates are metres at the place of contact and grow away from it.
struct GnomonicPlane: Hashable, Sendable {
  private let sinLatitude, cosLatitude, sinLongitude, cosLongitude: Double

  static let radius = WGS84.semiMajorAxis
  /// The cosine of 60°, as far as the plane is used.
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

  /// Nil more than 60° from the contact.
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

  /// The cosine of the angle between a place and the contact.
  func cosine(to point: SurfacePoint) -> Double { contact.direction.dot(point.direction) }

  func point(at place: SIMD2<Double>) -> SurfacePoint {
    let (x, y) = (place.x / Self.radius, place.y / Self.radius)
    let direction = contact.direction + east * x + north * y
    return SurfacePoint(direction: direction / (1 + x * x + y * y).squareRoot())
  }

  /// How a small step in the plane at a place comes out in metres east and north there.
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
  /// What a unit step along each of the plane's axes becomes.
  var x, y: SIMD2<Double>

  @inline(__always)
  func callAsFunction(_ step: SIMD2<Double>) -> SIMD2<Double> { x * step.x + y * step.y }
}
