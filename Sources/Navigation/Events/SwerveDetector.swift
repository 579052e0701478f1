internal import Spatial

/// A detector of swerves: a lateral acceleration to one side, immediately followed by the other side, with
/// the same heading before and after.
///
/// A swerve around an obstacle takes about 2 s out and 2 s back (ISO 3888-2), so the acceleration is averaged
/// over half a second. A bend in the road is not a swerve: it changes the heading.
struct SwerveDetector: Sendable {
  /// The averaging time of the lateral acceleration in s.
  private static let window = 0.5
  /// The maximum pause in s between the acceleration to one side and to the other.
  private static let longestPause = 1.5
  /// The time in s without such an acceleration, after which the swerve is over.
  private static let quiet = 1.0
  /// The maximum change of heading in rad. A lane change of 3.5 m at 8 m/s turns by 20° and back, less at
  /// higher speeds.
  private static let largestTurn = 20 * Double.pi / 180
  /// The minimum speed in m/s (30 km/h); at lower speeds the same accelerations are normal steering.
  private static let slowest = 8.3
  /// The standard deviation of a lateral acceleration, m/s².
  private static let deviation = 0.2

  private struct Candidate {
    var start: Timestamp
    var sign: Double
    /// The peak acceleration to the first side, m/s².
    var first: Double
    /// The peak acceleration to the other side in m/s²; nil until it occurs.
    var second: Double?
    /// The last time at which the acceleration exceeded the lower threshold.
    var loud: Timestamp
    /// The heading before the swerve, rad.
    var heading: Double
    var point: MotionWindow.Point?
  }

  private let limit: Double
  private var candidate: Candidate?
  /// True after a turn, until the acceleration falls below the lower threshold. It does not count as a swerve.
  private var isTurning = false

  init(limit: Double) { self.limit = limit }

  /// True after accelerations to both sides, until the swerve is over.
  var isOpen: Bool { candidate?.second != nil }

  mutating func reset() { (candidate, isTurning) = (nil, false) }

  /// Processes the newest point of a window.
  mutating func process(_ window: MotionWindow) -> DrivingEvent? {
    guard let mean = window.mean(seconds: Self.window) else { return nil }
    let size = abs(mean.across)
    let isLoud = size >= ManoeuvreDetector.hysteresis * limit
    guard var candidate else {
      if isTurning {
        isTurning = isLoud
      } else if size >= limit, mean.speed >= Self.slowest {
        let point = window.point(at: mean.middle)
        self.candidate = Candidate(
          start: mean.middle, sign: mean.across < 0 ? -1 : 1, first: size, loud: mean.middle,
          heading: window.point(at: mean.middle.advanced(bySeconds: -Self.window))?.heading ?? mean.heading,
          point: point)
      }
      return nil
    }
    guard abs(mean.heading - candidate.heading) <= Self.largestTurn else {
      (self.candidate, isTurning) = (nil, true)
      return nil
    }
    if mean.across * candidate.sign > 0 {
      candidate.first = max(candidate.first, size)
    } else if size >= limit {
      candidate.second = max(candidate.second ?? 0, size)
    }
    if isLoud { candidate.loud = mean.middle }
    self.candidate = candidate
    let silence = mean.middle.seconds(since: candidate.loud)
    guard silence >= (candidate.second == nil ? Self.longestPause : Self.quiet) else { return nil }
    self.candidate = nil
    guard let second = candidate.second else { return nil }
    // Both sides must reach the limit, so the smaller peak counts.
    let peak = min(candidate.first, second)
    return DrivingEvent(
      .swerve, start: candidate.start, duration: max(0, candidate.loud.seconds(since: candidate.start)),
      peak: max(candidate.first, second), limit: limit, severity: DrivingEvent.Severity(ratio: peak / limit),
      confidence: chance(peak - limit, deviation: Self.deviation), coordinate: candidate.point?.coordinate,
      speed: candidate.point?.speed)
  }
}
