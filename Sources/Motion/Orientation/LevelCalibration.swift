public import Spatial

/// Gravity as measured on a level surface: the zero point of an inclinometer.
///
/// It corrects the mounting of the sensor in the device and of the device in the vehicle about two axes. An
/// accelerometer cannot observe the third, vertical axis.
public struct LevelCalibration: Hashable, Sendable {
  /// Gravity on the level surface, device frame, length one.
  public let gravity: Vector3

  /// No correction: the device counts as level if gravity is (0, 0, -1).
  public static let none = LevelCalibration(uncheckedGravity: Vector3(0, 0, -1))

  private init(uncheckedGravity: Vector3) { gravity = uncheckedGravity }

  /// Creates a calibration from gravity measured on the surface; nil for a zero vector.
  public init?(gravity: Vector3) {
    guard let unit = gravity.normalized else { return nil }
    // Unit vectors are stored unchanged to the last digit.
    self.init(uncheckedGravity: abs(gravity.length - 1) < 1e-12 ? gravity : unit)
  }

  /// Creates a calibration from two readings on a surface that may be tilted, with the device turned by 180°
  /// between them. As with a spirit level, the surface's contributions cancel. Nil if the two vectors cancel
  /// altogether.
  public init?(gravity: Vector3, turnedAround: Vector3) {
    guard let a = gravity.normalized, let b = turnedAround.normalized else { return nil }
    self.init(gravity: a + b)
  }

  /// Rotation from device coordinates to those of a level device, by the smallest angle.
  ///
  /// The smallest rotation is unstable for a device that faces down (within 45°, or tilted more to a side
  /// than to top or bottom). Such a device is first turned over about its long axis, so that its top remains
  /// ahead.
  public var rotation: Quaternion {
    let level = Vector3(0, 0, -1)
    let isOnSide = gravity.z > 0 && abs(gravity.x) > abs(gravity.y)
    guard isOnSide || gravity.z > 0.5.squareRoot() else { return .shortest(from: gravity, to: level) }
    let turnedOver = Quaternion(angle: .pi, axis: Vector3(0, 1, 0))
    return .shortest(from: turnedOver.rotate(gravity), to: level) * turnedOver
  }

  /// Tilt of the device relative to the surface in degrees, 0 ... 180.
  public var tilt: Double { Self.none.tilt(of: gravity) ?? 0 }

  /// Corrects gravity, or any vector, given in the device frame.
  public func corrected(_ vector: Vector3) -> Vector3 { rotation.rotate(vector) }

  /// Returns roll and pitch relative to the surface in rad; nil for a zero vector.
  public func inclination(of gravity: Vector3) -> (roll: Double, pitch: Double)? {
    guard let attitude = Attitude(gravity: corrected(gravity)) else { return nil }
    let angles = attitude.eulerAngles
    return (angles.roll, angles.pitch)
  }

  /// Returns the angle in degrees between the surface and the device, 0 ... 180; nil for a zero vector.
  public func tilt(of gravity: Vector3) -> Double? {
    gravity.normalized.map { Quaternion.shortest(from: self.gravity, to: $0).angle.degrees }
  }
}

/// Measures a level calibration while the device rests on a level surface.
public struct LevelCalibrator: Sendable {
  public enum Outcome: Hashable, Sendable {
    /// Averaging in progress; `progress` is 0 ..< 1.
    case measuring(progress: Double)
    case done(LevelCalibration)
    /// The device moved: gravity deviated from its mean by `degrees`. Start again.
    case moved(degrees: Double)
    /// Single readings deviate by `degrees`, too much for a valid mean. Start again, or check the sensor.
    case noisy(degrees: Double)
  }

  /// Averaging time in s: 2 s reduce the noise of an inexpensive accelerometer (3 mg at 100 Hz) to 0.01°.
  public static let defaultDuration = 2.0
  /// Largest deviation in degrees of a smoothed reading from the mean. The vibration of an idling engine
  /// causes a smaller deviation.
  public static let defaultTolerance = 1.0

  private let duration: Double
  private let tolerance: Double
  private var start: Timestamp?
  private var sum = Vector3.zero
  private var squares = 0.0
  private var count = 0.0
  // Single readings vibrate with the engine; an average over a tenth of a second does not.
  private var smooth = LowPassFilter(cutoff: 2)

  public init(duration: Double = defaultDuration, tolerance: Double = defaultTolerance) {
    self.duration = duration
    self.tolerance = tolerance
  }

  /// Processes an accelerometer reading in g, with gravity. Readings that are not finite are ignored.
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
    // A deviation from the mean is evaluated only after a quarter of the averaging time, when the mean is
    // reliable.
    if strayed > tolerance, elapsed >= duration / 4 {
      // If smoothed readings deviate from the mean by less than single readings do, the cause is noise. A
      // larger deviation is a movement.
      let scatter = self.scatter
      return strayed < scatter ? .noisy(degrees: scatter) : .moved(degrees: strayed)
    }
    guard elapsed >= duration, let calibration = LevelCalibration(gravity: sum / count) else {
      return .measuring(progress: max(0, min(1, elapsed / duration)))
    }
    return .done(calibration)
  }

  /// RMS deviation in degrees of single readings from their mean.
  private var scatter: Double {
    let mean = sum / count
    let variance = max(0, squares / count - mean.dot(mean))
    return mean.length > 0 ? (variance.squareRoot() / mean.length).degrees : 0
  }
}
