internal import Glibc

/// A rotation as a unit quaternion: scalar first, Hamilton's product, right-handed.
///
/// A quaternion "from A to B" converts the coordinates of a vector in frame A to its coordinates in frame B:
/// `v_B = q.rotate(v_A)`. Rotations compose from right to left: `ac = bc * ab`.
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

  /// The identity rotation.
  @inlinable public static var identity: Quaternion { Quaternion(w: 1, x: 0, y: 0, z: 0) }

  /// Creates a rotation by `angle` (rad) about `axis`, which may have any length. A zero axis gives the
  /// identity.
  public init(angle: Double, axis: Vector3) {
    guard let unit = axis.normalized else {
      self = .identity
      return
    }
    let s = sin(angle / 2)
    self.init(w: cos(angle / 2), x: unit.x * s, y: unit.y * s, z: unit.z * s)
  }

  /// Creates a rotation about the direction of `rotationVector` by its length (rad).
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

  /// The quaternion scaled to length one; the identity if the length is zero or not finite.
  @inlinable public var normalized: Quaternion {
    let n = norm
    guard n > 0, n.isFinite else { return .identity }
    return Quaternion(w: w / n, x: x / n, y: y / n, z: z / n)
  }

  /// Returns the vector rotated by this quaternion.
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
  /// Returns the shortest rotation from one direction to another. Opposite directions give half a turn about
  /// some perpendicular axis; a vector without a direction gives the identity.
  public static func shortest(from: Vector3, to: Vector3) -> Quaternion {
    guard let a = from.normalized, let b = to.normalized else { return .identity }
    // The vector half-way between the two has full precision at both ends of the range; the arc cosine does
    // not.
    if let half = (a + b).normalized, (a + b).length > 1e-9 {
      let axis = a.cross(half)
      return Quaternion(w: a.dot(half), x: axis.x, y: axis.y, z: axis.z).normalized
    }
    let other = abs(a.x) < 0.9 ? Vector3(1, 0, 0) : Vector3(0, 1, 0)
    return Quaternion(angle: .pi, axis: a.cross(other))
  }
}
