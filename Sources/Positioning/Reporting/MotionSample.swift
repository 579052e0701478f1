internal import Glibc
internal import Spatial

/// A fix as the reporting policy sees it: where, when and with what velocity.
struct MotionSample: Sendable {
  /// A receiver's silence longer than this makes the way between two fixes worthless as a velocity.
  private static let longestStep = 5.0

  /// Metres per second.
  private static let slowest = 2.0

  var timestamp: Timestamp
  var coordinate: Coordinate
  /// Metres per second east and north: the receiver's, which the Doppler shift gives, or the way from the last fix.
  var velocity: SIMD2<Double>

  init(_ location: Location, after previous: MotionSample?) {
    timestamp = location.timestamp
    coordinate = location.coordinate
    if let speed = location.speed, let course = location.course {
      velocity = speed * SIMD2(sin(course.radians), cos(course.radians))
    } else if let previous, case let step = timestamp.seconds(since: previous.timestamp),
      step > 0, step <= Self.longestStep
    {
      velocity = LocalFrame(origin: previous.coordinate).offset(of: coordinate) / step
    } else {
      velocity = .zero
    }
  }

  /// Change of speed (m/s²) and of course (rad/s, counterclockwise) since an earlier sample; zero where unknown.
  func trend(since previous: MotionSample?) -> (acceleration: Double, turnRate: Double) {
    guard let previous, case let step = timestamp.seconds(since: previous.timestamp), step > 0,
      step <= Self.longestStep
    else { return (0, 0) }
    let squaredSpeed = (velocity * velocity).sum()
    // Slower than a walk, noise is all there is to see of acceleration and turn.
    guard squaredSpeed > Self.slowest * Self.slowest else { return (0, 0) }
    let change = (velocity - previous.velocity) / step
    return (
      (change * velocity).sum() / squaredSpeed.squareRoot(),
      (velocity.x * change.y - velocity.y * change.x) / squaredSpeed
    )
  }
}
