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
