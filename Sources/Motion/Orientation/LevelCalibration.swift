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
    guard let unit = gravity.normalized else { return nil }
    // What was a direction stays as it is, to the last digit.
    self.init(uncheckedGravity: abs(gravity.length - 1) < 1e-12 ? gravity : unit)
  }

  /// From two readings on a surface that need not be level, the device turned by half a circle on it in between: what the
  /// surface contributes changes its sign and cancels. As with a spirit level. Nil when the two cancel altogether.
  public init?(gravity: Vector3, turnedAround: Vector3) {
    guard let a = gravity.normalized, let b = turnedAround.normalized else { return nil }
    self.init(gravity: a + b)
  }

  /// Turns device coordinates into those of a device that lies level, by the shortest way. One whose face points down is turned
  /// over about its long side first, so that its top stays ahead, where the shortest way would hang on a hair: within 45° of
  /// face down, and wherever it lies more on a side than on its top or bottom.
  public var rotation: Quaternion {
    let level = Vector3(0, 0, -1)
    let isOnSide = gravity.z > 0 && abs(gravity.x) > abs(gravity.y)
    guard isOnSide || gravity.z > 0.5.squareRoot() else { return .shortest(from: gravity, to: level) }
    let turnedOver = Quaternion(angle: .pi, axis: Vector3(0, 1, 0))
    return .shortest(from: turnedOver.rotate(gravity), to: level) * turnedOver
  }

  /// Degrees by which the device is tilted against the surface, 0 ... 180.
  public var tilt: Double { Self.none.tilt(of: gravity) ?? 0 }

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
    /// Single readings scatter by so many degrees that their mean says nothing. Start over, or look at the sensor.
    case noisy(degrees: Double)
  }

  /// Seconds to average over: 2 s bring the noise of a cheap accelerometer (3 mg at 100 Hz) to 0.01°.
  public static let defaultDuration = 2.0
  /// Degrees that a single, smoothed reading may stray; vibration of an idling engine stays below.
  public static let defaultTolerance = 1.0

  private let duration: Double
  private let tolerance: Double
  private var start: Timestamp?
  private var sum = Vector3.zero
  private var squares = 0.0
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
    squares += acceleration.dot(acceleration)
    count += 1
    let elapsed = timestamp.seconds(since: start)
    let strayed = Quaternion.shortest(from: smooth.process(acceleration, at: timestamp), to: sum).angle
      .degrees
    // Before that, neither has seen enough.
    if strayed > tolerance, elapsed >= duration / 4 {
      // Noise strays less after smoothing than single readings scatter; a movement strays from a mean that hardly scatters.
      let scatter = self.scatter
      return strayed < scatter ? .noisy(degrees: scatter) : .moved(degrees: strayed)
    }
    guard elapsed >= duration, let calibration = LevelCalibration(gravity: sum / count) else {
      return .measuring(progress: max(0, min(1, elapsed / duration)))
    }
    return .done(calibration)
  }

  /// Degrees, effective, by which single readings lie off their mean.
  private var scatter: Double {
    let mean = sum / count
    let variance = max(0, squares / count - mean.dot(mean))
    return mean.length > 0 ? (variance.squareRoot() / mean.length).degrees : 0
  }
}
