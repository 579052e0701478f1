internal import Glibc

/// A rotation as a unit quaternion: scalar first, Hamilton's product, right-handed.
///
/// A quaternion "from A to B" turns the coordinates that a vector has in frame A into those that it has in
/// frame B: `v_B = q.rotate(v_A)`, and rotations compose right to left, `ac = bc * ab`.
@frozen
public struct Quaternion: Hashable, Sendable {
  public var w: Double
  public var x: Double
  public var y: Double
  public var z: Double

  @inlinable
  public init(w: Double, x: Double, y: Double, z: Double) {
    self.w = w
    self.x = x
    self.y = y
    self.z = z
  }

  /// No rotation.
  @inlinable public static var identity: Quaternion { Quaternion(w: 1, x: 0, y: 0, z: 0) }

  /// A rotation by `angle` (rad) about `axis`, which need not have length one. A zero axis gives no rotation.
  public init(angle: Double, axis: Vector3) {
    guard let unit = axis.normalized else {
      self = .identity
      return
    }
    let s = sin(angle / 2)
    self.init(w: cos(angle / 2), x: unit.x * s, y: unit.y * s, z: unit.z * s)
  }

  /// A rotation by the length of `rotationVector` (rad) about its direction.
  public init(rotationVector: Vector3) {
    let angle = rotationVector.length
    // Below this, sin(a/2)/a is 1/2 to double precision.
    let scale = angle < 1e-8 ? 0.5 : sin(angle / 2) / angle
    self.init(
      w: cos(angle / 2), x: rotationVector.x * scale, y: rotationVector.y * scale,
      z: rotationVector.z * scale)
  }

  @inlinable
  public static func * (a: Quaternion, b: Quaternion) -> Quaternion {
    Quaternion(
      w: a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
      x: a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      y: a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
      z: a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w)
  }

  /// The inverse rotation of a unit quaternion.
  @inlinable public var conjugate: Quaternion { Quaternion(w: w, x: -x, y: -y, z: -z) }

  @inlinable public var norm: Double { (w * w + x * x + y * y + z * z).squareRoot() }

  /// Scaled to length one; the identity where the length is zero or not finite.
  @inlinable public var normalized: Quaternion {
    let n = norm
    guard n > 0, n.isFinite else { return .identity }
    return Quaternion(w: w / n, x: x / n, y: y / n, z: z / n)
  }

  /// The vector turned by this rotation.
  @inlinable
  public func rotate(_ v: Vector3) -> Vector3 {
    let u = Vector3(x, y, z)
    let t = 2 * u.cross(v)
    return v + w * t + u.cross(t)
  }

  /// The rotation angle in radians, 0 ... pi.
  public var angle: Double {
    2 * atan2(Vector3(x, y, z).length, abs(w))
  }

  @inlinable public var isFinite: Bool { w.isFinite && x.isFinite && y.isFinite && z.isFinite }
}

extension Quaternion {
  /// The shortest rotation that turns one direction into another; half a turn about some perpendicular axis where they
  /// are opposite, the identity where one has no direction.
  public static func shortest(from: Vector3, to: Vector3) -> Quaternion {
    guard let a = from.normalized, let b = to.normalized else { return .identity }
    // The half-way vector keeps full precision at both ends, where the arc cosine does not.
    if let half = (a + b).normalized, (a + b).length > 1e-9 {
      let axis = a.cross(half)
      return Quaternion(w: a.dot(half), x: axis.x, y: axis.y, z: axis.z).normalized
    }
    let other = abs(a.x) < 0.9 ? Vector3(1, 0, 0) : Vector3(0, 1, 0)
    return Quaternion(angle: .pi, axis: a.cross(other))
  }
}
