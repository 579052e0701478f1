internal import Glibc

/// A position on the WGS 84 ellipsoid.
@frozen
public struct Coordinate: Hashable, Sendable {
  /// Degrees north, -90 ... 90.
  public var latitude: Double
  /// Degrees east, -180 ... 180.
  public var longitude: Double

  @inlinable
  public init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }

  /// Whether both numbers are finite and in range.
  public var isValid: Bool {
    latitude.isFinite && longitude.isFinite && abs(latitude) <= 90 && abs(longitude) <= 180
  }
}

/// An angle in degrees brought into 0 ..< 360, as courses and headings are given.
public func normalizedDegrees(_ degrees: Double) -> Double {
  let rest = degrees.truncatingRemainder(dividingBy: 360)
  let positive = rest < 0 ? rest + 360 : rest
  return positive >= 360 ? 0 : positive
}

/// The shorter way from one direction to another in degrees, -180 ..< 180; positive is clockwise.
public func signedDegrees(from a: Double, to b: Double) -> Double {
  let turn = normalizedDegrees(b - a)
  return turn >= 180 ? turn - 360 : turn
}

extension Double {
  @inlinable public var radians: Double { self * .pi / 180 }
  @inlinable public var degrees: Double { self * 180 / .pi }
}

/// A flat east-north-up frame around an origin: metres for degrees, cheap and exact enough near it.
///
/// Uses the ellipsoid's two radii of curvature at the origin; within 10 km of it a distance is off by less
/// than one part in a thousand at 60° latitude, and far less nearer the equator.
@frozen
public struct LocalFrame: Hashable, Sendable {
  public let origin: Coordinate
  @usableFromInline let metresPerDegreeNorth: Double
  @usableFromInline let metresPerDegreeEast: Double

  /// - Parameter altitude: metres above the ellipsoid at which lengths are wanted: 1.6 km up they are 250 parts in a
  ///   million greater than on it.
  public init(origin: Coordinate, altitude: Double = 0) {
    self.origin = origin
    metresPerDegreeNorth = (WGS84.meridionalRadius(latitude: origin.latitude) + altitude).radians
    // A floor keeps the division finite at the poles, where east has no meaning anyway.
    metresPerDegreeEast = max(
      1e-9,
      (WGS84.transverseRadius(latitude: origin.latitude) + altitude).radians * cos(origin.latitude.radians))
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
