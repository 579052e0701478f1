internal import Glibc
internal import Sensors
public import Spatial

/// The motion of the vehicle at one time, in a level frame that turns with the vehicle.
///
/// In a level frame, a slope, a banked curve or a leaning body adds no acceleration.
public struct DrivingSample: Hashable, Sendable {
  public var timestamp: Timestamp
  /// The mean acceleration since the previous sample in m/s² without gravity, forward.
  public var forward: Double
  /// The mean acceleration since the previous sample in m/s² without gravity, to the right.
  public var right: Double
  /// The ground speed in m/s, at least 0.
  public var speed: Double
  /// The rotation about the vertical in rad, clockwise from an arbitrary direction. Full turns accumulate.
  public var heading: Double
  /// The systematic standard deviation of the accelerations in m/s²: tilt times gravity.
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

/// A sampler that converts navigation estimates to `DrivingSample`s.
struct DrivingSampler: Hashable, Sendable {
  /// The interval between two samples in s, which is finer than the windows of the manoeuvres require.
  static let interval = 0.05
  /// The largest standard deviations of mounting and tilt in degrees. At these limits, 3.5 % of the lateral
  /// acceleration and 0.17 m/s² of gravity appear as forward acceleration.
  private static let (mountingDeviation, tiltDeviation) = (2.0, 1.0)
  /// The interval in s between two estimates, above which the motion between them is unknown.
  private static let longestGap = 0.5

  private struct Newest: Hashable {
    var timestamp: Timestamp
    var acceleration: Vector3
  }
  private var newest: Newest?

  /// True if mounting and tilt were accurate enough in the last estimate.
  var isBegun: Bool { newest != nil }

  /// Returns a sample if the sampling interval has passed, and mounting and tilt are accurate enough; nil
  /// otherwise.
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
    // Reverts the low-pass y' = (a - y) / T. The mean of a is the mean of y, plus T times the rate of change
    // of y.
    let change = estimate.acceleration - before.acceleration
    let acceleration =
      0.5 * (estimate.acceleration + before.acceleration)
      + (NavigationEstimate.accelerationTime / step) * change
    let ahead = estimate.vehicleAttitude.rotate(Vector3(0, 1, 0))
    let level = hypot(ahead.x, ahead.y)
    // A vehicle that points straight up or down has no heading.
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
