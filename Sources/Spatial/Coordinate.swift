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
