internal import Glibc
internal import Sensors
internal import Spatial
internal import VehicleData

/// A fix in the form that the reporting policy uses: position, time and velocity.
struct MotionSample: Sendable {
  /// Maximum time in s between two fixes from whose distance a velocity is computed.
  static let longestStep = 5.0
  /// Assumed accuracy in m (68 %) of a receiver that reports no accuracy.
  private static let unknownAccuracy = 10.0
  /// Assumed standard deviation in m/s of a velocity without a reported one: the maximum of Doppler
  /// measurements.
  private static let unknownDeviation = 0.5
  /// Radii of 68 % in a margin: they contain 99 % if the errors east and north are equal, and 95 % if one
  /// direction has all of it. In `OutagePromiseTests`, one of 16,997 guaranteed seconds was beyond 20 m, by 0.4 m;
  /// with 2.5, one of 13,715, by 0.1 m.
  private static let marginRadii = 2.0

  var timestamp: Timestamp
  var coordinate: Coordinate
  /// Velocity in m/s, east and north: the receiver's Doppler velocity, or from the distance to the last fix.
  var velocity: SIMD2<Double>
  /// Standard deviation of the velocity in m/s; infinite if the velocity is unknown.
  var velocityDeviation: Double
  /// Accuracy in m (68 %).
  var accuracy: Double
  /// Part of the bound in m that the error of the position may need: twice the radius of a position from
  /// inertial sensors; 0 for a fix, because bounds apply to fixes.
  var margin: Double
  /// Time in s since the previous sample, at most `longestStep`; 1 for the first.
  var interval = 1.0

  init(_ location: Location, after previous: MotionSample?) {
    timestamp = location.timestamp
    coordinate = location.coordinate
    accuracy = location.horizontalAccuracy ?? Self.unknownAccuracy
    if let previous {
      interval = min(Self.longestStep, timestamp.seconds(since: previous.timestamp))
    }
    margin = location.positionSource == .inertial ? Self.marginRadii * accuracy : 0
    if let speed = location.speed, let course = location.course {
      velocity = speed * SIMD2(sin(course.radians), cos(course.radians))
      velocityDeviation = min(location.speedAccuracy ?? Self.unknownDeviation, Self.unknownDeviation)
    } else if let previous, case let step = timestamp.seconds(since: previous.timestamp),
      step > 0, step <= Self.longestStep
    {
      velocity = LocalFrame(origin: previous.coordinate).offset(of: coordinate) / step
      // The mean velocity of the step, at its end.
      velocityDeviation =
        Self.unknownDeviation + accuracy / 2 / step + VelocityEstimate.manoeuvre * max(0, step - 1) / 2
    } else {
      velocity = .zero
      velocityDeviation = location.speed ?? .infinity
    }
  }

  /// The expected motion until the next sample, with the margin that manoeuvres need.
  var next: MotionSample {
    var next = self
    next.timestamp = timestamp.advanced(bySeconds: interval)
    next.coordinate = LocalFrame(origin: coordinate).coordinate(at: velocity * interval)
    next.margin += 0.5 * 2.0.squareRoot() * VelocityEstimate.manoeuvre * interval * interval
    return next
  }

  /// Speed in m/s.
  var speed: Double { velocity.squaredLength.squareRoot() }
}
