internal import Glibc

/// Three turns that make up an attitude, applied in the order yaw, pitch, roll, each about the device's axes as they
/// are by then: z, then x, then y.
@frozen
public struct EulerAngles: Hashable, Sendable {
  /// About the device's y axis, rad, -π ... π; positive lowers the right side.
  public var roll: Double
  /// About the device's x axis, rad, -π/2 ... π/2; positive raises the top.
  public var pitch: Double
  /// About the vertical, rad, -π ... π; positive is counter-clockwise from above.
  public var yaw: Double

  public init(roll: Double, pitch: Double, yaw: Double) {
    self.roll = roll
    self.pitch = pitch
    self.yaw = yaw
  }
}

extension Attitude {
  public init(eulerAngles angles: EulerAngles) {
    self.init(
      quaternion: Quaternion(angle: angles.yaw, axis: Vector3(0, 0, 1))
        * Quaternion(angle: angles.pitch, axis: Vector3(1, 0, 0))
        * Quaternion(angle: angles.roll, axis: Vector3(0, 1, 0)))
  }

  /// Rotation about the device's x axis, rad, -π/2 ... π/2; positive raises the top.
  public var pitch: Double {
    // Near the vertical the arc sine loses half of its digits; the arc tangent does not.
    atan2(sinPitch, cosPitch)
  }

  /// Rotation about the device's y axis, rad, -π ... π; positive lowers the right side. With the top straight up or down
  /// roll and yaw turn about the same axis: see `eulerAngles(near:within:)`.
  public var roll: Double { eulerAngles.roll }

  /// Rotation about the vertical, rad, -π ... π; positive is counter-clockwise from above. Zero where the device's axes
  /// are parallel to the reference axes.
  public var yaw: Double { eulerAngles.yaw }

  /// Roll, pitch and yaw of this attitude alone.
  ///
  /// Within 0.0001 rad (0.006°) of pitch ±π/2, where only the sum of the two turns can be told, roll fades to zero and
  /// yaw takes over what it gives up. Both stay finite and change without a jump into the singularity; the attitude
  /// that they describe is off by at most 0.0002 rad. A stateless answer cannot be continuous *through* it: for that,
  /// hand in the last angles, to `eulerAngles(near:within:)`.
  public var eulerAngles: EulerAngles {
    eulerAngles(near: EulerAngles(roll: 0, pitch: 0, yaw: 0), within: 1e-4)
  }

  /// Roll, pitch and yaw that go on from the last ones without a jump while the top points almost straight up or down.
  ///
  /// Near pitch ±π/2 only the sum (or difference) of roll and yaw can be told, and noise splits it at random. Within
  /// the cone roll is drawn to `previous.roll`, the more the closer to the vertical, and yaw takes the rest, so that
  /// the sum stays true. At a distance c (rad) from the vertical the attitude that the angles describe is off by at
  /// most 2c; outside the cone they are exact. When the top swings *through* the vertical, roll and yaw must both turn by
  /// π, as pitch is bound to ±π/2; they then do so outside or at the rim of the cone.
  /// - Parameters:
  ///   - previous: the angles told last.
  ///   - cone: rad; how far from the vertical to hold on. The default is half a degree, about the noise of the tilt of
  ///     a cheap sensor in a moving vehicle.
  public func eulerAngles(near previous: EulerAngles, within cone: Double = 0.0087) -> EulerAngles {
    let q = quaternion
    let cosine = cosPitch
    let roll = atan2(2 * (q.w * q.y - q.x * q.z), 1 - 2 * (q.x * q.x + q.y * q.y))
    let yaw = atan2(2 * (q.w * q.z - q.x * q.y), 1 - 2 * (q.x * q.x + q.z * q.z))
    guard cosine < cone else { return EulerAngles(roll: roll, pitch: pitch, yaw: yaw) }
    let ratio = cosine / cone
    let trust = ratio * ratio * ratio * ratio * (5 - 4 * ratio)
    let held = remainder(previous.roll + trust * remainder(roll - previous.roll, 2 * .pi), 2 * .pi)
    // At pitch +π/2 the two turn the same way, at -π/2 against each other. The quaternion's halves hold the sum
    // (difference) to full precision where the angles themselves are noise.
    let turn = sinPitch > 0 ? 2 * atan2(q.y + q.z, q.w + q.x) : 2 * atan2(q.z - q.y, q.w - q.x)
    let rest = sinPitch > 0 ? turn - held : turn + held
    return EulerAngles(roll: held, pitch: pitch, yaw: remainder(rest, 2 * .pi))
  }

  private var sinPitch: Double {
    2 * (quaternion.y * quaternion.z + quaternion.w * quaternion.x)
  }

  private var cosPitch: Double {
    let q = quaternion
    let sine = 2 * (q.w * q.y - q.x * q.z)
    let cosine = 1 - 2 * (q.x * q.x + q.y * q.y)
    return (sine * sine + cosine * cosine).squareRoot()
  }
}
