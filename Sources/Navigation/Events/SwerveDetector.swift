internal import Spatial

/// Tells a swerve: across to one side and at once to the other, with the vehicle pointing where it did before.
///
/// An obstacle is passed in about 2 s each way (ISO 3888-2), so the mean over half a second is what counts. The
/// bends of a road turn the vehicle by more.
struct SwerveDetector: Sendable {
  /// s of the mean.
  private static let window = 0.5
  /// s between the push to one side and that to the other.
  private static let longestPause = 1.5
  /// s of quiet after which it is over.
  private static let quiet = 1.0
  /// rad: a change of lanes by 3.5 m at 8 m/s turns by 20° and back, less at more speed.
  private static let largestTurn = 20 * Double.pi / 180
  /// m/s: 30 km/h; slower, it is steering.
  private static let slowest = 8.3
  /// m/s²: what an acceleration across is wrong by, one deviation.
  private static let deviation = 0.2

  private struct Candidate {
    var start: Timestamp
    var sign: Double
    /// m/s²: the greatest to the first side, and to the other one; nil before it came.
    var first: Double
    var second: Double?
    /// When it was last above its end.
    var loud: Timestamp
    /// rad.
    var heading: Double
    var point: MotionWindow.Point?
  }

  private let limit: Double
  private var candidate: Candidate?
  /// A turn that goes on: what follows is no swerve until it is quiet.
  private var isTurning = false

  init(limit: Double) { self.limit = limit }

  /// Whether a push to one side was followed by one to the other, and it is not over yet.
  var isOpen: Bool { candidate?.second != nil }

  mutating func reset() { (candidate, isTurning) = (nil, false) }

  /// Takes the newest of a window.
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
    // Both sides have to be pushed to: the lesser of them is what counts.
    let peak = min(candidate.first, second)
    return DrivingEvent(
      .swerve, start: candidate.start, duration: max(0, candidate.loud.seconds(since: candidate.start)),
      peak: max(candidate.first, second), limit: limit, severity: DrivingEvent.Severity(ratio: peak / limit),
      confidence: chance(peak - limit, deviation: Self.deviation), coordinate: candidate.point?.coordinate,
      speed: candidate.point?.speed)
  }
}
