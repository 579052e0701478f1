public import Spatial

/// How the device is held, named as by UIDevice.
public enum DeviceOrientation: String, Hashable, Sendable, CaseIterable {
  /// Top up.
  case portrait
  /// Top down.
  case portraitUpsideDown
  /// Turned a quarter counter-clockwise: the top points left, the right side up.
  case landscapeLeft
  /// Turned a quarter clockwise: the top points right, the left side up.
  case landscapeRight
  case faceUp
  case faceDown

  /// Where gravity points in the device frame, exactly so oriented.
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

/// Follows the orientation with hysteresis, so that a device held at 45° does not flap.
///
/// An orientation is taken up when gravity has been within `captureAngle` of its axis for `settlingTime`; until then the
/// last one stands. Two axes are 90° apart, so an angle below 45° leaves a band of 90° - 2·`captureAngle` between them in
/// which nothing changes.
public struct OrientationDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// Degrees, below 45.
    public var captureAngle = 38.0
    /// Seconds that it must last: a swing of the hand through an orientation is not one.
    public var settlingTime = 0.25
    /// The orientations that are told apart; while the device lies in another, the last one stands.
    public var orientations = Set(DeviceOrientation.allCases)

    public init() {}
  }

  /// Nil until gravity has pointed clearly along an axis.
  public private(set) var orientation: DeviceOrientation?

  private let settings: Settings
  private let captureCosine: Double
  private var candidate: (orientation: DeviceOrientation, since: Timestamp)?

  public init(settings: Settings = Settings()) {
    self.settings = settings
    let turn = Quaternion(angle: settings.captureAngle.radians, axis: Vector3(0, 0, 1))
    captureCosine = turn.rotate(Vector3(1, 0, 0)).x
  }

  /// Takes gravity in the device frame (any length; one without a direction is ignored). Returns the orientation when it
  /// changes.
  public mutating func process(gravity: Vector3, at timestamp: Timestamp) -> DeviceOrientation? {
    guard let down = gravity.normalized else { return nil }
    guard let captured = captured(down), captured != orientation else {
      candidate = nil
      return nil
    }
    if candidate?.orientation != captured { candidate = (captured, timestamp) }
    guard let since = candidate?.since, timestamp.seconds(since: since) >= settings.settlingTime else {
      return nil
    }
    orientation = captured
    candidate = nil
    return captured
  }

  /// The orientation whose axis is near enough to where gravity points.
  private func captured(_ down: Vector3) -> DeviceOrientation? {
    let (x, y, z) = (abs(down.x), abs(down.y), abs(down.z))
    let nearest: DeviceOrientation
    if y >= x, y >= z {
      nearest = down.y < 0 ? .portrait : .portraitUpsideDown
    } else if x >= z {
      nearest = down.x < 0 ? .landscapeLeft : .landscapeRight
    } else {
      nearest = down.z < 0 ? .faceUp : .faceDown
    }
    let isNear = nearest.gravity.dot(down) >= captureCosine && settings.orientations.contains(nearest)
    return isNear ? nearest : nil
  }
}
