internal import Glibc
internal import Sensors
public import Spatial

/// How the vehicle moves at one moment, in a level frame that turns with it.
///
/// The frame is level, so that neither a grade nor a banked curve nor a body that leans is an acceleration.
public struct DrivingSample: Hashable, Sendable {
  public var timestamp: Timestamp
  /// m/s² along and to the right of where the vehicle points, gravity taken off, a mean since the sample before.
  public var forward: Double
  public var right: Double
  /// m/s over ground, at least 0.
  public var speed: Double
  /// rad about the vertical, clockwise, from any direction; turns may add up.
  public var heading: Double
  /// m/s², one deviation of the accelerations that does not average out: tilt times gravity.
  public var deviation: Double
  public var coordinate: Coordinate?

  public init(
    timestamp: Timestamp, forward: Double, right: Double, speed: Double, heading: Double,
    deviation: Double = 0, coordinate: Coordinate? = nil
  ) {
    (self.timestamp, self.forward, self.right) = (timestamp, forward, right)
    (self.speed, self.heading, self.deviation) = (speed, heading, deviation)
    self.coordinate = coordinate
  }
}

/// Makes `DrivingSample`s of navigation's estimates.
struct DrivingSampler: Hashable, Sendable {
  /// Seconds between two samples: more than the manoeuvres' windows need.
  static let interval = 0.05
  /// Degrees of deviation of the mounting and of the tilt from which nothing is told: 3.5 % of the acceleration across shows along,
  /// and 0.17 m/s² of gravity.
  private static let (mountingDeviation, tiltDeviation) = (2.0, 1.0)
  /// s after which nothing is known of what happened meanwhile.
  private static let longestGap = 0.5

  private struct Newest: Hashable {
    var timestamp: Timestamp
    var acceleration: Vector3
  }
  private var newest: Newest?

  /// Whether mounting and tilt were known well enough at the newest estimate.
  var isBegun: Bool { newest != nil }

  /// Nil before the next sample is due, and while mounting or tilt are not known well enough.
  mutating func process(_ estimate: NavigationEstimate) -> DrivingSample? {
    if let newest, case let age = estimate.timestamp.seconds(since: newest.timestamp),
      age >= 0, age < Self.interval - 1e-6
    {
      return nil
    }
    guard estimate.mountingDeviation.max() <= Self.mountingDeviation,
      estimate.tiltDeviation <= Self.tiltDeviation
    else {
      newest = nil
      return nil
    }
    let before = newest
    newest = Newest(timestamp: estimate.timestamp, acceleration: estimate.acceleration)
    guard let before, case let step = estimate.timestamp.seconds(since: before.timestamp),
      step > 0, step <= Self.longestGap
    else { return nil }
    // The low-pass undone: of y' = (a - y) / T the mean of a is that of y and T times the change of y.
    let change = estimate.acceleration - before.acceleration
    let acceleration =
      0.5 * (estimate.acceleration + before.acceleration)
      + (NavigationEstimate.accelerationTime / step) * change
    let ahead = estimate.vehicleAttitude.rotate(Vector3(0, 1, 0))
    let level = hypot(ahead.x, ahead.y)
    // A vehicle that stands on its nose has no heading.
    guard level > 0.5 else { return nil }
    let (east, north) = (ahead.x / level, ahead.y / level)
    return DrivingSample(
      timestamp: estimate.timestamp, forward: acceleration.x * east + acceleration.y * north,
      right: acceleration.x * north - acceleration.y * east, speed: estimate.speed,
      heading: atan2(east, north), deviation: standardGravity * estimate.tiltDeviation.radians,
      coordinate: estimate.coordinate)
  }

  mutating func interrupt() { newest = nil }
}
