public import Spatial
public import VehicleData

/// Tracks the orientation with hysteresis, so that it does not alternate at 45°.
///
/// An orientation is adopted when gravity has been within `captureAngle` of its axis for `settlingTime`;
/// until then the previous one remains. Axes are 90° apart, so angles below 45° leave a band of 90° -
/// 2·`captureAngle` between them without changes.
public struct OrientationDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// Largest angle in degrees between gravity and an axis; below 45.
    public var captureAngle = 38.0
    /// Time in s for which gravity must stay near an axis.
    public var settlingTime = 0.25
    /// The detected orientations. In any other orientation the previous one remains.
    public var orientations = Set(DeviceOrientation.allCases)

    public init() {}
  }

  /// The current orientation; nil until gravity has pointed clearly along an axis.
  public private(set) var orientation: DeviceOrientation?

  private let settings: Settings
  private let captureCosine: Double
  private var candidate: (orientation: DeviceOrientation, since: Timestamp)?

  public init(settings: Settings = Settings()) {
    self.settings = settings
    let turn = Quaternion(angle: settings.captureAngle.radians, axis: Vector3(0, 0, 1))
    captureCosine = turn.rotate(Vector3(1, 0, 0)).x
  }

  /// Processes gravity in the device frame (any length; zero is ignored). Returns the orientation if it
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

  /// Returns the orientation whose axis is within the capture angle of gravity.
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
