internal import Glibc
public import Spatial

extension DeviceOrientation {
  /// The side of the device that is up when it is held so, device frame, length one: the one whose heading is told. A device
  /// that lies flat is used with its top ahead.
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
  /// Degrees clockwise from the frame's north, 0 ..< 360, to which the side points that is up in an orientation: its
  /// projection on the horizontal plane, as the device lies. Only meaningful in a frame whose x axis points north.
  ///
  /// A side that is within 15° of the vertical has hardly a direction of its own: an error of the tilt is magnified four
  /// times there and more. Its place is taken by degrees, and within 5° altogether, by the device's back (the face, where the
  /// side points down): that is what comes to lie ahead when a device that points ahead is set upright. Nil only at
  /// the moment when a side that leans backwards changes over.
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

  /// Nil for a vector within 2° of the vertical.
  private static func compassDirection(_ direction: Vector3) -> Double? {
    guard direction.x * direction.x + direction.y * direction.y > 0.0012 else { return nil }
    return normalizedDegrees(-atan2(direction.y, direction.x).degrees)
  }
}
