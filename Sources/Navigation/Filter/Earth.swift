internal import Glibc
internal import Spatial

/// Gravity and rotation of the earth at one position.
struct Earth: Hashable, Sendable {
  /// The rotation rate of the earth in rad/s (WGS 84).
  private static let rotationRate = 7.292115e-5

  /// Gravity in m/s², downward.
  let gravity: Double
  /// The rotation rate east, north, up in rad/s.
  private let rotation: Vector3

  /// Computes gravity and rotation.
  ///
  /// - Parameters:
  ///   - latitude: degrees.
  ///   - altitude: metres above the ellipsoid.
  init(latitude: Double, altitude: Double) {
    let (s, c) = (sin(latitude.radians), cos(latitude.radians))
    // Somigliana's formula with the constants of WGS 84, and the free-air gradient.
    gravity =
      9.7803253359 * (1 + 0.00193185265241 * s * s) / (1 - WGS84.eccentricitySquared * s * s).squareRoot()
      - 3.086e-6 * altitude
    rotation = Self.rotationRate * Vector3(0, c, s)
  }

  /// Returns the rotation rate in the device frame, rad/s.
  @inline(__always)
  func rate(in attitude: RotationMatrix) -> Vector3 {
    let (_, north, up) = attitude.rows
    return north * rotation.y + up * rotation.z
  }

  /// Returns the acceleration of a force-free body in m/s²: gravity and Coriolis.
  @inline(__always)
  func apparentAcceleration(velocity: Vector3) -> Vector3 {
    Vector3(0, 0, -gravity) - 2 * rotation.cross(velocity)
  }
}
