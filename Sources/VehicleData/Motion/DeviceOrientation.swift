public import Spatial

/// Orientation of a hand-held device, with the names of `UIDeviceOrientation`.
public enum DeviceOrientation: String, Hashable, Sendable, CaseIterable {
  /// Top edge up.
  case portrait
  /// Top edge down.
  case portraitUpsideDown
  /// Rotated a quarter turn counter-clockwise: top edge left, right edge up.
  case landscapeLeft
  /// Rotated a quarter turn clockwise: top edge right, left edge up.
  case landscapeRight
  case faceUp
  case faceDown

  /// Direction of gravity in the device frame at exactly this orientation.
  public var gravity: Vector3 {
    switch self {
    case .portrait: Vector3(0, -1, 0)
    case .portraitUpsideDown: Vector3(0, 1, 0)
    case .landscapeLeft: Vector3(-1, 0, 0)
    case .landscapeRight: Vector3(1, 0, 0)
    case .faceUp: Vector3(0, 0, -1)
    case .faceDown: Vector3(0, 0, 1)
    }
  }
}
