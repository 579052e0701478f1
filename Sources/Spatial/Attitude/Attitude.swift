internal import Glibc

/// How a device is turned against a reference frame.
///
/// Device axes: x to the right, y to the top (a vehicle's front), z out of the face (a vehicle's roof).
@frozen
public struct Attitude: Hashable, Sendable {
  /// Turns device coordinates into reference coordinates: `v_reference = quaternion.rotate(v_device)`.
  public var quaternion: Quaternion

  public init(quaternion: Quaternion) {
    self.quaternion = quaternion
  }

  /// The attitude with yaw zero at which gravity has this direction in the device frame; (0, 0, -1) is flat. Nil for a
  /// vector without a direction. It is what an accelerometer alone can tell.
  public init?(gravity: Vector3) {
    guard let down = gravity.normalized else { return nil }
    // Gravity in the device frame is (sin r cos p, -sin p, -cos r cos p).
    let pitch = asin(max(-1, min(1, -down.y)))
    let roll = down.x == 0 && down.z == 0 ? 0 : atan2(down.x, -down.z)
    self.init(eulerAngles: EulerAngles(roll: roll, pitch: pitch, yaw: 0))
  }

  /// The attitude against magnetic north (`xMagneticNorthZVertical`) from gravity and the field alone, both in the device frame:
  /// a compass that knows which way is down (TRIAD, H. D. Black, 1964). Nil when one has no direction, or the field is within
  /// 0.06° of the vertical.
  public init?(gravity: Vector3, magneticField: Vector3) {
    guard let down = gravity.normalized, let field = magneticField.normalized else { return nil }
    let leveled = Quaternion.shortest(from: -down, to: Vector3(0, 0, 1))
    let turned = leveled.rotate(field)
    guard abs(turned.x) + abs(turned.y) > 0.001 else { return nil }
    let north = Quaternion(angle: -atan2(turned.y, turned.x), axis: Vector3(0, 0, 1))
    self.init(quaternion: (north * leveled).normalized)
  }

  /// Turns reference coordinates into device coordinates, as in Core Motion: this matrix times (0, 0, -1) is
  /// gravity in the device frame.
  public var rotationMatrix: RotationMatrix {
    RotationMatrix(quaternion.conjugate)
  }

  /// The direction of gravity in the device frame, length one: (0, 0, -1) when flat.
  public var gravity: Vector3 {
    rotationMatrix * Vector3(0, 0, -1)
  }

  /// This attitude expressed relative to an earlier one, as `CMAttitude.multiply(byInverseOf:)`: the turn, in the axes
  /// of the earlier attitude, that led from there to here. Afterwards the quaternion turns coordinates of this device
  /// frame into those of the earlier device frame.
  public mutating func multiply(byInverseOf attitude: Attitude) {
    quaternion = (attitude.quaternion.conjugate * quaternion).normalized
  }

  /// The turn about the vertical that makes the reference x axis point to `angle` rad counter-clockwise of
  /// where it points now.
  public func rotatedReference(by angle: Double) -> Attitude {
    Attitude(quaternion: Quaternion(angle: -angle, axis: Vector3(0, 0, 1)) * quaternion)
  }

  /// Degrees clockwise from the frame's north, 0 ..< 360, to which a device axis points; the top when none is named.
  /// Only meaningful in a frame whose x axis points north. Nil when the axis is within 2° of the vertical, where it has
  /// no direction on the compass.
  public func heading(of axis: Vector3 = Vector3(0, 1, 0)) -> Double? {
    guard let direction = axis.normalized.map(quaternion.rotate),
      direction.x * direction.x + direction.y * direction.y > 0.0012
    else { return nil }
    return normalizedDegrees(-atan2(direction.y, direction.x).degrees)
  }
}

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

/// The frame in which an attitude is expressed. In each of them z points up, and the frame is right-handed.
///
/// Descriptions of the north frames disagree by 90° about where yaw is zero. Ours follows their names: the *x axis*
/// points north (and so y points west), and yaw is zero where the *device's x axis*, its right side, points north. A
/// flat device then reads:
///
/// | top (y), a vehicle's front, points | right side (x) points | yaw | heading of the top |
/// | --- | --- | --- | --- |
/// | west | north | 0 | 270° |
/// | north | east | -π/2 | 0° |
/// | east | south | ±π | 90° |
/// | south | west | π/2 | 180° |
///
/// So the heading of the top is `270° - yaw`. `Attitude.heading` computes it for any attitude.
public enum AttitudeReferenceFrame: String, Hashable, Sendable, CaseIterable {
  /// x points in an arbitrary horizontal direction, which drifts with the gyroscope.
  case xArbitraryZVertical
  /// x points in an arbitrary horizontal direction, held by the magnetometer against drift.
  case xArbitraryCorrectedZVertical
  /// x points to magnetic north, so y points to magnetic west.
  case xMagneticNorthZVertical
  /// x points to true north, so y points to true west. Needs a location for the declination.
  case xTrueNorthZVertical

  /// Whether x points north, so that an attitude in this frame has a heading.
  public var hasNorth: Bool {
    switch self {
    case .xArbitraryZVertical, .xArbitraryCorrectedZVertical: false
    case .xMagneticNorthZVertical, .xTrueNorthZVertical: true
    }
  }

  /// Whether it takes a magnetometer.
  public var needsMagnetometer: Bool { self != .xArbitraryZVertical }
}
