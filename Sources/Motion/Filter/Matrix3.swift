internal import Spatial

/// A general 3x3 matrix, stored by columns, for sums and covariances of the attitude filter.
struct Matrix3: Sendable {
  var column0: Vector3
  var column1: Vector3
  var column2: Vector3

  init(_ column0: Vector3, _ column1: Vector3, _ column2: Vector3) {
    self.column0 = column0
    self.column1 = column1
    self.column2 = column2
  }

  /// Creates the rotation matrix of a unit quaternion.
  @inline(__always)
  init(_ q: Quaternion) {
    let (x2, y2, z2) = (q.x + q.x, q.y + q.y, q.z + q.z)
    let (xx, yy, zz) = (q.x * x2, q.y * y2, q.z * z2)
    let (xy, xz, yz) = (q.x * y2, q.x * z2, q.y * z2)
    let (wx, wy, wz) = (q.w * x2, q.w * y2, q.w * z2)
    column0 = Vector3(1 - yy - zz, xy + wz, xz - wy)
    column1 = Vector3(xy - wz, 1 - xx - zz, yz + wx)
    column2 = Vector3(xz + wy, yz - wx, 1 - xx - yy)
  }

  static let zero = Matrix3(.zero, .zero, .zero)

  static func diagonal(_ value: Double) -> Matrix3 {
    Matrix3(Vector3(value, 0, 0), Vector3(0, value, 0), Vector3(0, 0, value))
  }

  /// Returns `scale * v * v^T`.
  static func outer(_ v: Vector3, scale: Double) -> Matrix3 {
    let s = scale * v
    return Matrix3(s * v.x, s * v.y, s * v.z)
  }

  @inline(__always)
  static func * (a: Matrix3, v: Vector3) -> Vector3 {
    a.column0 * v.x + a.column1 * v.y + a.column2 * v.z
  }

  @inline(__always)
  static func * (a: Matrix3, b: Matrix3) -> Matrix3 {
    Matrix3(a * b.column0, a * b.column1, a * b.column2)
  }

  @inline(__always)
  static func * (a: Matrix3, scale: Double) -> Matrix3 {
    Matrix3(a.column0 * scale, a.column1 * scale, a.column2 * scale)
  }

  @inline(__always)
  static func += (a: inout Matrix3, b: Matrix3) {
    a.column0 += b.column0
    a.column1 += b.column1
    a.column2 += b.column2
  }

  var trace: Double { column0.x + column1.y + column2.z }

  var transposed: Matrix3 { Matrix3(row(0), row(1), row(2)) }

  @inline(__always)
  func row(_ i: Int) -> Vector3 { Vector3(column0[i], column1[i], column2[i]) }

  /// The inverse; nil for a singular matrix.
  var inverse: Matrix3? {
    let (a, b, c) = (column1.cross(column2), column2.cross(column0), column0.cross(column1))
    let determinant = column0.dot(a)
    guard determinant != 0, (1 / determinant).isFinite else { return nil }
    return Matrix3(a, b, c).transposed * (1 / determinant)
  }
}

@inline(__always)
func squared(_ x: Double) -> Double { x * x }

extension Quaternion {
  /// Computes the product in place, because the general operator is not always inlined across modules.
  @inline(__always)
  func times(_ b: Quaternion) -> Quaternion {
    Quaternion(
      w: w * b.w - x * b.x - y * b.y - z * b.z,
      x: w * b.x + x * b.w + y * b.z - z * b.y,
      y: w * b.y - x * b.z + y * b.w + z * b.x,
      z: w * b.z + x * b.y - y * b.x + z * b.w)
  }

  /// Returns the product `self * b` at half the cost, if `self` is a rotation about the z axis (`self.x` and
  /// `self.y` are zero).
  @inline(__always)
  func timesAboutVertical(_ b: Quaternion) -> Quaternion {
    Quaternion(w: w * b.w - z * b.z, x: w * b.x - z * b.y, y: w * b.y + z * b.x, z: w * b.z + z * b.w)
  }

  /// Creates the rotation by a vector, using series for the small angles of one sample; exact to 1e-12 up to
  /// 0.1 rad.
  @inline(__always)
  init(smallRotation r: Vector3) {
    let a = r.x * r.x + r.y * r.y + r.z * r.z
    guard a < 0.01 else {
      self.init(rotationVector: r)
      return
    }
    let s = 0.5 - a * (1.0 / 48 - a * (1.0 / 3840))
    self.init(w: 1 - a * (0.125 - a * (1.0 / 384)), x: s * r.x, y: s * r.y, z: s * r.z)
  }

  /// Returns the smallest rotation from the direction of `a` to that of `b`; nil if either vector is zero.
  static func shortestTurn(from a: Vector3, to b: Vector3) -> Quaternion? {
    guard let a = a.normalized, let b = b.normalized else { return nil }
    let cosine = a.dot(b)
    if cosine < -0.999_999 {
      // For half a turn, any axis perpendicular to `a` is valid.
      let across = abs(a.x) < 0.8 ? a.cross(Vector3(1, 0, 0)) : a.cross(Vector3(0, 1, 0))
      guard let axis = across.normalized else { return nil }
      return Quaternion(w: 0, x: axis.x, y: axis.y, z: axis.z)
    }
    let axis = a.cross(b)
    return Quaternion(w: 1 + cosine, x: axis.x, y: axis.y, z: axis.z).normalized
  }

  /// The quaternion rescaled to length one. It must be a product of unit quaternions, whose length differs
  /// from one by rounding errors only.
  @inline(__always)
  var renormalized: Quaternion {
    let n = 1.5 - 0.5 * (w * w + x * x + y * y + z * z)
    return Quaternion(w: w * n, x: x * n, y: y * n, z: z * n)
  }
}
