internal import Glibc

/// A flat east-north-up frame around an origin: metres for degrees, cheap and exact enough near it.
///
/// Uses the ellipsoid's two radii of curvature at the origin; within 10 km of it a distance is off by less
/// than one part in a thousand at 60° latitude, and far less nearer the equator.
@frozen
public struct LocalFrame: Hashable, Sendable {
  public let origin: Coordinate
  @usableFromInline let metresPerDegreeNorth: Double
  @usableFromInline let metresPerDegreeEast: Double

  public init(origin: Coordinate) {
    self.origin = origin
    metresPerDegreeNorth = WGS84.meridionalRadius(latitude: origin.latitude).radians
    // A floor keeps the division finite at the poles, where east has no meaning anyway.
    metresPerDegreeEast = max(
      1e-9, WGS84.transverseRadius(latitude: origin.latitude).radians * cos(origin.latitude.radians))
  }

  /// Metres east and north of the origin.
  public func offset(of coordinate: Coordinate) -> SIMD2<Double> {
    SIMD2(
      signedDegrees(from: origin.longitude, to: coordinate.longitude) * metresPerDegreeEast,
      (coordinate.latitude - origin.latitude) * metresPerDegreeNorth)
  }

  /// The position at an offset of metres east and north.
  public func coordinate(at offset: SIMD2<Double>) -> Coordinate {
    Coordinate(
      latitude: origin.latitude + offset.y / metresPerDegreeNorth,
      longitude: signedDegrees(from: 0, to: origin.longitude + offset.x / metresPerDegreeEast))
  }
}
