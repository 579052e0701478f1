internal import Glibc
internal import Spatial

/// Gravity and rotation of the earth at one place.
struct Earth: Hashable, Sendable {
  /// rad/s (WGS 84).
  private static let rotationRate = 7.292115e-5

  /// m/s², downward.
  let gravity: Double
  /// rad/s: east, north, up.
  private let rotation: Vector3

  /// - Parameters:
  ///   - latitude: degrees.
  ///   - altitude: m above the ellipsoid.
  init(latitude: Double, altitude: Double) {
    let (s, c) = (sin(latitude.radians), cos(latitude.radians))
    // Somigliana's formula with the constants of WGS 84, and the free-air gradient.
    gravity =
      9.7803253359 * (1 + 0.00193185265241 * s * s) / (1 - WGS84.eccentricitySquared * s * s).squareRoot()
      - 3.086e-6 * altitude
    rotation = Self.rotationRate * Vector3(0, c, s)
  }

  /// rad/s in the device frame.
  @inline(__always)
  func rate(in attitude: RotationMatrix) -> Vector3 {
    let (_, north, up) = attitude.rows
    return north * rotation.y + up * rotation.z
  }

  /// m/s² that a body accelerates by without any force on it: gravity and Coriolis.
  @inline(__always)
  func apparentAcceleration(velocity: Vector3) -> Vector3 {
    Vector3(0, 0, -gravity) - 2 * rotation.cross(velocity)
  }
}
