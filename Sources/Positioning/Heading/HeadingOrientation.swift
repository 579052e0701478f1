public import Motion

/// Which axis of the device a heading is of.
extension DeviceOrientation {
  /// Degrees clockwise, seen from above the screen, from the device's top to the axis that is up when it is held so. A
  /// device that lies flat is used with its top ahead.
  public var headingOffset: Double {
    switch self {
    case .portrait, .faceUp, .faceDown: 0
    case .portraitUpsideDown: 180
    case .landscapeLeft: 90
    case .landscapeRight: 270
    }
  }
}
