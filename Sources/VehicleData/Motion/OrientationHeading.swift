internal import Glibc
public import Spatial

extension DeviceOrientation {
  /// The upper side of a device in this orientation, whose heading is reported: device frame, length one. For
  /// a device lying flat, it is the top.
  public var headingAxis: Vector3 {
    switch self {
    case .portrait, .faceUp, .faceDown: Vector3(0, 1, 0)
    case .portraitUpsideDown: Vector3(0, -1, 0)
    case .landscapeLeft: Vector3(1, 0, 0)
    case .landscapeRight: Vector3(-1, 0, 0)
    }
  }
}

extension Attitude {
  /// Returns the direction of the upper side in an orientation, projected on the horizontal plane, in degrees
  /// clockwise from the frame's north, 0 ..< 360. It is meaningful only in frames whose x axis points north.
  ///
  /// A side within 15° of the vertical has hardly any direction: a tilt error is magnified at least four
  /// times. Between 15° and 5°, the side is gradually replaced by the device's back, or by its face if the
  /// side points down; within 5°, completely. The back is the side that points ahead when a device that
  /// points ahead is set upright.
  ///
  /// Nil if side and back point in opposite directions and cancel, which happens at one tilt of a device that
  /// leans backwards.
  public func heading(for orientation: DeviceOrientation) -> Double? {
    let side = quaternion.rotate(orientation.headingAxis)
    let steepness = abs(side.z)
    guard steepness > Self.steep else { return Self.compassDirection(side) }
    let upright = min(1, (steepness - Self.steep) / (Self.upright - Self.steep))
    let back = quaternion.rotate(Vector3(0, 0, side.z > 0 ? -1 : 1))
    return Self.compassDirection((1 - upright) * side + upright * back)
  }

  /// Sines of 75° and 85°.
  private static let steep = sin(75 * Double.pi / 180)
  private static let upright = sin(85 * Double.pi / 180)

  /// Returns the compass direction of a vector in degrees; nil for a vector within 2° of the vertical.
  private static func compassDirection(_ direction: Vector3) -> Double? {
    guard direction.x * direction.x + direction.y * direction.y > 0.0012 else { return nil }
    return normalizedDegrees(-atan2(direction.y, direction.x).degrees)
  }
}
