internal import Glibc
internal import Spatial

/// A fix as the reporting policy sees it: where, when and with what velocity.
struct MotionSample: Sendable {
  /// A receiver's silence longer than this makes the way between two fixes worthless as a velocity.
  static let longestStep = 5.0
  /// Metres at 68 %, for a receiver that does not say.
  private static let unknownAccuracy = 10.0
  /// Metres per second, one standard deviation, for a receiver that does not say: its Doppler shift gives that at worst.
  private static let unknownDeviation = 0.5

  var timestamp: Timestamp
  var coordinate: Coordinate
  /// Metres per second east and north: the receiver's, which the Doppler shift gives, or the way from the last fix.
  var velocity: SIMD2<Double>
  /// Metres per second, one standard deviation; infinite when nothing is known of the velocity.
  var velocityDeviation: Double
  /// Metres at 68 %.
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

  /// Metres per second.
  var speed: Double { velocity.squaredLength.squareRoot() }
}
