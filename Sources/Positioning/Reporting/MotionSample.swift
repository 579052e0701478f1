internal import Glibc
internal import Spatial

/// A fix in the form that the reporting policy uses: position, time and velocity.
struct MotionSample: Sendable {
  /// Maximum time in s between two fixes from whose distance a velocity is computed.
  static let longestStep = 5.0
  /// Assumed accuracy in m (68 %) of a receiver that reports no accuracy.
  private static let unknownAccuracy = 10.0
  /// Assumed standard deviation in m/s of a velocity without a reported one: the maximum of Doppler
  /// measurements.
  private static let unknownDeviation = 0.5

  var timestamp: Timestamp
  var coordinate: Coordinate
  /// Velocity in m/s, east and north: the receiver's Doppler velocity, or from the distance to the last fix.
  var velocity: SIMD2<Double>
  /// Standard deviation of the velocity in m/s; infinite if the velocity is unknown.
  var velocityDeviation: Double
  /// Accuracy in m (68 %).
  var accuracy: Double

  init(_ location: Location, after previous: MotionSample?) {
    timestamp = location.timestamp
    coordinate = location.coordinate
    accuracy = location.horizontalAccuracy ?? Self.unknownAccuracy
    if let speed = location.speed, let course = location.course {
      velocity = speed * SIMD2(sin(course.radians), cos(course.radians))
      velocityDeviation = min(location.speedAccuracy ?? Self.unknownDeviation, Self.unknownDeviation)
    } else if let previous, case let step = timestamp.seconds(since: previous.timestamp),
      step > 0, step <= Self.longestStep
    {
      velocity = LocalFrame(origin: previous.coordinate).offset(of: coordinate) / step
      velocityDeviation = Self.unknownDeviation + accuracy / 2 / step
    } else {
      velocity = .zero
      velocityDeviation = location.speed ?? .infinity
    }
  }

  /// Speed in m/s.
  var speed: Double { velocity.squaredLength.squareRoot() }
}
