/// Three components along x, y and z of whatever frame the context names.
public typealias Vector3 = SIMD3<Double>

extension SIMD3 where Scalar == Double {
  /// The scalar product with another vector.
  @inlinable
  public func dot(_ other: Self) -> Double {
    x * other.x + y * other.y + z * other.z
  }

  /// The right-handed vector product with another vector.
  @inlinable
  public func cross(_ other: Self) -> Self {
    Self(
      y * other.z - z * other.y,
      z * other.x - x * other.z,
      x * other.y - y * other.x)
  }

  /// The Euclidean length.
  @inlinable public var length: Double { dot(self).squareRoot() }

  /// The same direction with length one; nil for a zero or non-finite vector, which has no direction.
  @inlinable public var normalized: Self? {
    let length = self.length
    guard length > 0, length.isFinite else { return nil }
    return self / length
  }

  /// Whether all three components are finite numbers.
  @inlinable public var isFinite: Bool { x.isFinite && y.isFinite && z.isFinite }
}
