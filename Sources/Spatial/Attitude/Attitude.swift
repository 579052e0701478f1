internal import Glibc

/// The orientation of a device relative to a reference frame.
///
/// Device axes: x to the right, y to the top (a vehicle's front), z out of the face (a vehicle's roof).
@frozen
public struct Attitude: Hashable, Sendable {
  /// The rotation from device to reference coordinates: `v_reference = quaternion.rotate(v_device)`.
  public var quaternion: Quaternion

  public init(quaternion: Quaternion) {
    self.quaternion = quaternion
  }

  /// Creates the attitude with zero yaw for a direction of gravity in the device frame; (0, 0, -1) is flat.
  /// An accelerometer alone can determine no more. Nil for a vector without a direction.
  public init?(gravity: Vector3) {
    guard let down = gravity.normalized else { return nil }
    // Gravity in the device frame is (sin r cos p, -sin p, -cos r cos p).
    let pitch = asin(max(-1, min(1, -down.y)))
    let roll = down.x == 0 && down.z == 0 ? 0 : atan2(down.x, -down.z)
    self.init(eulerAngles: EulerAngles(roll: roll, pitch: pitch, yaw: 0))
  }

  /// Creates the attitude relative to magnetic north (`xMagneticNorthZVertical`) from gravity and the
  /// magnetic field, both in the device frame: a tilt-compensated compass (TRIAD, H. D. Black, 1964). Nil if
  /// either has no direction, or the field is within 0.06° of the vertical.
  public init?(gravity: Vector3, magneticField: Vector3) {
    guard let down = gravity.normalized, let field = magneticField.normalized else { return nil }
    let leveled = Quaternion.shortest(from: -down, to: Vector3(0, 0, 1))
    let turned = leveled.rotate(field)
    guard abs(turned.x) + abs(turned.y) > 0.001 else { return nil }
    let north = Quaternion(angle: -atan2(turned.y, turned.x), axis: Vector3(0, 0, 1))
    self.init(quaternion: (north * leveled).normalized)
  }

  /// The rotation from reference to device coordinates, as in Core Motion: this matrix times (0, 0, -1) is
  /// gravity in the device frame.
  public var rotationMatrix: RotationMatrix {
    RotationMatrix(quaternion.conjugate)
  }

  /// The unit vector of gravity in the device frame; (0, 0, -1) if the device is flat.
  public var gravity: Vector3 {
    rotationMatrix * Vector3(0, 0, -1)
  }

  /// Makes this attitude relative to an earlier one, as `CMAttitude.multiply(byInverseOf:)` does. The result
  /// is the rotation from the earlier to this attitude, in the axes of the earlier one. Its quaternion
  /// converts coordinates of this device frame to those of the earlier device frame.
  public mutating func multiply(byInverseOf attitude: Attitude) {
    quaternion = (attitude.quaternion.conjugate * quaternion).normalized
  }

  /// Returns the attitude after the reference x axis was turned about the vertical by `angle` (rad,
  /// counter-clockwise).
  public func rotatedReference(by angle: Double) -> Attitude {
    Attitude(quaternion: Quaternion(angle: -angle, axis: Vector3(0, 0, 1)) * quaternion)
  }

  /// Returns the heading of a device axis in degrees clockwise from the frame's north, 0 ..< 360; by default
  /// that of the top. Only meaningful in a frame whose x axis points north. Nil if the axis is within 2° of
  /// the vertical, where the heading is undefined.
  public func heading(of axis: Vector3 = Vector3(0, 1, 0)) -> Double? {
    guard let direction = axis.normalized.map(quaternion.rotate),
      direction.x * direction.x + direction.y * direction.y > 0.0012
    else { return nil }
    return normalizedDegrees(-atan2(direction.y, direction.x).degrees)
  }
}

/// Three rotations that make up an attitude, applied in the order yaw, pitch, roll. Each is about an axis of
/// the already rotated device: z, then x, then y.
@frozen
public struct EulerAngles: Hashable, Sendable {
  /// Rotation about the device's y axis, rad, -π ... π; positive lowers the right side.
  public var roll: Double
  /// Rotation about the device's x axis, rad, -π/2 ... π/2; positive raises the top.
  public var pitch: Double
  /// Rotation about the vertical, rad, -π ... π; positive is counter-clockwise from above.
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

  /// Rotation about the device's y axis, rad, -π ... π; positive lowers the right side. If the top points
  /// straight up or down, roll and yaw have the same axis: see `eulerAngles(near:within:)`.
  public var roll: Double { eulerAngles.roll }

  /// Rotation about the vertical, rad, -π ... π; positive is counter-clockwise from above. Zero if the device
  /// axes are parallel to the reference axes.
  public var yaw: Double { eulerAngles.yaw }

  /// Roll, pitch and yaw of this attitude, independent of earlier attitudes.
  ///
  /// Within 0.0001 rad (0.006°) of pitch ±π/2 only the sum of roll and yaw is determined. There roll fades to
  /// zero and yaw absorbs the rest. Roll and yaw are finite and approach the singularity without a jump. The
  /// attitude that they describe differs by at most 0.0002 rad. A stateless function cannot be continuous
  /// *through* the singularity: use `eulerAngles(near:within:)` with the previous angles for that.
  public var eulerAngles: EulerAngles {
    eulerAngles(near: EulerAngles(roll: 0, pitch: 0, yaw: 0), within: 1e-4)
  }

  /// Roll, pitch and yaw that continue from the previous angles without a jump while the top points almost
  /// straight up or down.
  ///
  /// Near pitch ±π/2 only the sum (or difference) of roll and yaw is determined, and noise splits it at
  /// random. Inside the cone, roll is drawn towards `previous.roll`, more strongly close to the vertical, and
  /// yaw absorbs the rest, so that the sum is exact. At a distance c (rad) from the vertical the angles
  /// describe an attitude that differs by at most 2c; outside the cone they are exact. If the top swings
  /// *through* the vertical, roll and yaw must both change by π, because pitch is limited to ±π/2. This
  /// change then occurs at or outside the rim of the cone.
  /// - Parameters:
  ///   - previous: the last angles that were output.
  ///   - cone: the half-angle of the cone in rad. The default is half a degree, about the tilt noise of a
  ///     cheap sensor in a moving vehicle.
  public func eulerAngles(near previous: EulerAngles, within cone: Double = 0.0087) -> EulerAngles {
    let q = quaternion
    let cosine = cosPitch
    let roll = atan2(2 * (q.w * q.y - q.x * q.z), 1 - 2 * (q.x * q.x + q.y * q.y))
    let yaw = atan2(2 * (q.w * q.z - q.x * q.y), 1 - 2 * (q.x * q.x + q.z * q.z))
    guard cosine < cone else { return EulerAngles(roll: roll, pitch: pitch, yaw: yaw) }
    let ratio = cosine / cone
    let trust = ratio * ratio * ratio * ratio * (5 - 4 * ratio)
    let held = remainder(previous.roll + trust * remainder(roll - previous.roll, 2 * .pi), 2 * .pi)
    // At pitch +π/2 roll and yaw rotate in the same sense, at -π/2 in opposite senses. The quaternion
    // components give the sum (difference) to full precision where the angles themselves are noise.
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

/// The frame in which an attitude is expressed. All frames are right-handed with z up.
///
/// Descriptions of the north frames disagree by 90° about the zero of yaw. Odograph follows their names: the
/// *x axis* points north (so y points west), and yaw is zero if the *device's x axis*, its right side, points
/// north. The table shows a flat device:
///
/// | top (y), a vehicle's front, points | right side (x) points | yaw | heading of the top |
/// | --- | --- | --- | --- |
/// | west | north | 0 | 270° |
/// | north | east | -π/2 | 0° |
/// | east | south | ±π | 90° |
/// | south | west | π/2 | 180° |
///
/// The heading of the top is therefore `270° - yaw`. `Attitude.heading` computes it for any attitude.
public enum AttitudeReferenceFrame: String, Hashable, Sendable, CaseIterable {
  /// x points in an arbitrary horizontal direction, which drifts with the gyroscope.
  case xArbitraryZVertical
  /// x points in an arbitrary horizontal direction; the magnetometer corrects its drift.
  case xArbitraryCorrectedZVertical
  /// x points to magnetic north, so y points to magnetic west.
  case xMagneticNorthZVertical
  /// x points to true north, so y points to true west. Requires a location for the declination.
  case xTrueNorthZVertical

  /// True if x points north, so that an attitude in this frame has a heading.
  public var hasNorth: Bool {
    switch self {
    case .xArbitraryZVertical, .xArbitraryCorrectedZVertical: false
    case .xMagneticNorthZVertical, .xTrueNorthZVertical: true
    }
  }

  /// True if the frame requires a magnetometer.
  public var needsMagnetometer: Bool { self != .xArbitraryZVertical }
}
