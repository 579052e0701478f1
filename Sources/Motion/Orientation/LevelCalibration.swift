public import Spatial

/// What the device reads on a surface that counts as level: the zero of an inclinometer.
///
/// It takes out how the sensor sits in the device and how the device is mounted in the vehicle, about two axes. The third,
/// about the vertical, no accelerometer can see.
public struct LevelCalibration: Hashable, Sendable {
  /// Gravity on the level surface, device frame, length one.
  public let gravity: Vector3

  /// No correction: level is where gravity is (0, 0, -1).
  public static let none = LevelCalibration(uncheckedGravity: Vector3(0, 0, -1))

  private init(uncheckedGravity: Vector3) { gravity = uncheckedGravity }

  /// From gravity read on the surface; nil for a vector without a direction.
  public init?(gravity: Vector3) {
    guard let gravity = gravity.normalized else { return nil }
    self.init(uncheckedGravity: gravity)
  }

  /// From two readings on a surface that need not be level, the device turned by half a circle on it in between: what the
  /// surface contributes changes its sign and cancels. As with a spirit level. Nil when the two cancel altogether.
  public init?(gravity: Vector3, turnedAround: Vector3) {
    guard let a = gravity.normalized, let b = turnedAround.normalized else { return nil }
    self.init(gravity: a + b)
  }

  /// Turns device coordinates into those of a device that lies level.
  public var rotation: Quaternion { .shortest(from: gravity, to: Vector3(0, 0, -1)) }

  /// Corrects a reading of gravity (or of any vector) in the device frame.
  public func corrected(_ vector: Vector3) -> Vector3 { rotation.rotate(vector) }

  /// Roll and pitch against the surface, rad; nil for gravity without a direction.
  public func inclination(of gravity: Vector3) -> (roll: Double, pitch: Double)? {
    guard let attitude = Attitude(gravity: corrected(gravity)) else { return nil }
    let angles = attitude.eulerAngles
    return (angles.roll, angles.pitch)
  }

  /// Degrees between the surface and how the device lies now, 0 ... 180; nil for gravity without a direction.
  public func tilt(of gravity: Vector3) -> Double? {
    gravity.normalized.map { Quaternion.shortest(from: self.gravity, to: $0).angle.degrees }
  }
}

/// Takes a level calibration while the device rests on the known surface.
public struct LevelCalibrator: Sendable {
  public enum Outcome: Hashable, Sendable {
    /// Still averaging: 0 ..< 1 of the time is over.
    case measuring(progress: Double)
    case done(LevelCalibration)
    /// The device moved: by how many degrees gravity strayed from its mean. Start over.
    case moved(degrees: Double)
  }

  /// Seconds to average over: 2 s bring the noise of a cheap accelerometer (3 mg at 100 Hz) to 0.01°.
  public static let defaultDuration = 2.0
  /// Degrees that a single, smoothed reading may stray; vibration of an idling engine stays below.
  public static let defaultTolerance = 1.0

  private let duration: Double
  private let tolerance: Double
  private var start: Timestamp?
  private var sum = Vector3.zero
  private var count = 0.0
  // Single readings shake with the engine; their average over a tenth of a second does not.
  private var smooth = LowPassFilter(cutoff: 2)

  public init(duration: Double = defaultDuration, tolerance: Double = defaultTolerance) {
    self.duration = duration
    self.tolerance = tolerance
  }

  /// Takes a reading of the accelerometer in g, gravity included. Readings that are not finite are ignored.
  public mutating func process(acceleration: Vector3, at timestamp: Timestamp) -> Outcome {
    guard acceleration.isFinite else { return .measuring(progress: 0) }
    let start = start ?? timestamp
    self.start = start
    sum += acceleration
    count += 1
    let strayed = Quaternion.shortest(from: smooth.process(acceleration, at: timestamp), to: sum).angle
      .degrees
    if strayed > tolerance { return .moved(degrees: strayed) }
    let elapsed = timestamp.seconds(since: start)
    guard elapsed >= duration, let calibration = LevelCalibration(gravity: sum / count) else {
      return .measuring(progress: max(0, min(1, elapsed / duration)))
    }
    return .done(calibration)
  }
}
