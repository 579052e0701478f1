/// Three components along x, y and z in the frame given by the context.
public typealias Vector3 = SIMD3<Double>

extension SIMD3 where Scalar == Double {
  /// Returns the scalar product with another vector.
  @inlinable
  public func dot(_ other: Self) -> Double {
    x * other.x + y * other.y + z * other.z
  }

  /// Returns the right-handed vector product with another vector.
  @inlinable
  public func cross(_ other: Self) -> Self {
    Self(
      y * other.z - z * other.y,
      z * other.x - x * other.z,
      x * other.y - y * other.x)
  }

  /// The Euclidean length.
  @inlinable public var length: Double { dot(self).squareRoot() }

  /// The unit vector in the same direction; nil for a zero or non-finite vector.
  @inlinable public var normalized: Self? {
    let length = self.length
    guard length > 0, length.isFinite else { return nil }
    return self / length
  }

  /// True if all three components are finite numbers.
  @inlinable public var isFinite: Bool { x.isFinite && y.isFinite && z.isFinite }
}

/// A 3x3 rotation matrix; `m12` is row 1, column 2, as in `CMRotationMatrix`.
@frozen
public struct RotationMatrix: Hashable, Sendable {
  public var m11, m12, m13: Double
  public var m21, m22, m23: Double
  public var m31, m32, m33: Double

  @inlinable
  public init(
    m11: Double, m12: Double, m13: Double,
    m21: Double, m22: Double, m23: Double,
    m31: Double, m32: Double, m33: Double
  ) {
    (self.m11, self.m12, self.m13) = (m11, m12, m13)
    (self.m21, self.m22, self.m23) = (m21, m22, m23)
    (self.m31, self.m32, self.m33) = (m31, m32, m33)
  }

  public static var identity: RotationMatrix {
    RotationMatrix(m11: 1, m12: 0, m13: 0, m21: 0, m22: 1, m23: 0, m31: 0, m32: 0, m33: 1)
  }

  /// Creates the matrix of the same rotation as `quaternion.rotate`.
  @inlinable
  public init(_ quaternion: Quaternion) {
    let q = quaternion
    self.init(
      m11: 1 - 2 * (q.y * q.y + q.z * q.z), m12: 2 * (q.x * q.y - q.w * q.z),
      m13: 2 * (q.x * q.z + q.w * q.y),
      m21: 2 * (q.x * q.y + q.w * q.z), m22: 1 - 2 * (q.x * q.x + q.z * q.z),
      m23: 2 * (q.y * q.z - q.w * q.x),
      m31: 2 * (q.x * q.z - q.w * q.y), m32: 2 * (q.y * q.z + q.w * q.x),
      m33: 1 - 2 * (q.x * q.x + q.y * q.y))
  }

  @inlinable
  public static func * (matrix: RotationMatrix, v: Vector3) -> Vector3 {
    Vector3(
      matrix.m11 * v.x + matrix.m12 * v.y + matrix.m13 * v.z,
      matrix.m21 * v.x + matrix.m22 * v.y + matrix.m23 * v.z,
      matrix.m31 * v.x + matrix.m32 * v.y + matrix.m33 * v.z)
  }

  public var determinant: Double {
    m11 * (m22 * m33 - m23 * m32) - m12 * (m21 * m33 - m23 * m31) + m13 * (m21 * m32 - m22 * m31)
  }
}
