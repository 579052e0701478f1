internal import Glibc

/// The frame in which an attitude is expressed. In each of them z points up.
public enum AttitudeReferenceFrame: String, Hashable, Sendable, CaseIterable {
  /// x points in an arbitrary horizontal direction, which drifts with the gyroscope.
  case xArbitraryZVertical
  /// x points in an arbitrary horizontal direction, held by the magnetometer against drift.
  case xArbitraryCorrectedZVertical
  /// x points to magnetic north, so y points to magnetic west.
  case xMagneticNorthZVertical
  /// x points to true north, so y points to true west. Needs a location for the declination.
  case xTrueNorthZVertical
}

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

  /// Turns reference coordinates into device coordinates, as in Core Motion: this matrix times (0, 0, -1) is
  /// gravity in the device frame.
  public var rotationMatrix: RotationMatrix {
    RotationMatrix(quaternion.conjugate)
  }

  /// Rotation about the device's x axis, rad, -pi/2 ... pi/2; positive raises the top.
  public var pitch: Double {
    asin(max(-1, min(1, sinPitch)))
  }

  /// Rotation about the device's y axis, rad, -pi ... pi; positive lowers the right side.
  public var roll: Double {
    let q = quaternion
    if isSingular { return 0 }
    return atan2(2 * (q.w * q.y - q.x * q.z), 1 - 2 * (q.x * q.x + q.y * q.y))
  }

  /// Rotation about the vertical, rad, -pi ... pi; positive is counter-clockwise from above. Zero where the
  /// device's axes are parallel to the reference axes.
  public var yaw: Double {
    let q = quaternion
    if isSingular {
      // Roll and yaw turn about the same axis there; all of the turn is given to yaw.
      return atan2(2 * (q.x * q.y + q.w * q.z), 1 - 2 * (q.y * q.y + q.z * q.z))
    }
    return atan2(2 * (q.w * q.z - q.x * q.y), 1 - 2 * (q.x * q.x + q.z * q.z))
  }

  /// This attitude expressed relative to an earlier one, as `CMAttitude.multiply(byInverseOf:)`.
  public mutating func multiply(byInverseOf attitude: Attitude) {
    quaternion = (attitude.quaternion.conjugate * quaternion).normalized
  }

  /// The turn about the vertical that makes the reference x axis point to `angle` rad counter-clockwise of
  /// where it points now.
  public func rotatedReference(by angle: Double) -> Attitude {
    Attitude(quaternion: Quaternion(angle: -angle, axis: Vector3(0, 0, 1)) * quaternion)
  }

  private var sinPitch: Double {
    2 * (quaternion.y * quaternion.z + quaternion.w * quaternion.x)
  }

  private var isSingular: Bool { abs(sinPitch) > 1 - 1e-12 }
}
