internal import Glibc
internal import Spatial

/// Motion and distance of a vehicle whose receiver reports positions and no speed.
///
/// The error of a position consists of an offset, which changes over minutes, and short-term noise. Only the
/// noise affects the distance between two neighbouring positions. It is estimated from their second
/// differences, because the offset and a constant velocity cancel in them. While the vehicle moves, the path
/// is a line through positions at least `step` apart, each piece without the mean contribution of noise. A
/// start is detected by the displacement of the last seconds, long before the vehicle has left the circle of
/// the offset.
///
/// The accuracy raises both limits, because the positions of most receivers are smoothed, so that the offset can move as
/// steadily as a vehicle. If it is unknown, a start requires the motion beyond an assumed one, because slower motion can be
/// the drift of a parked receiver; it counts once the vehicle has left the circle of the error. Positions that stay
/// in such a circle for `Odometer.longestDecision` end the motion. If positions are more than `longestInterval`
/// apart, `step` is nil, and straight lines between positions that differ by more than their errors remain.
///
/// The constants were chosen on simulated noise: white noise of 0 to 3 m and an offset of 2 to 8 m with a time
/// constant of 20 to 100 s, added to three true drives; and on simulated parked days.
struct PositionTravel: Hashable, Sendable {
  private struct Point: Hashable, Sendable {
    var time: Timestamp
    var coordinate: Coordinate
  }

  /// True between a start and a stop.
  private(set) var isMoving = false
  /// The positions of the last `span` seconds, oldest first.
  private var points: [Point] = []
  /// Variance of the short-term noise on each axis in m².
  private var variance = Self.firstDeviation * Self.firstDeviation
  /// The first of the newest positions that are all within the errors of it; nil before the first position.
  private var stay: Point?
  /// Time in s for which the noise has been learned.
  private var learned = 0.0

  /// The time in s over which a start is looked for, and the minimum.
  private static let (span, shortestSpan) = (5.0, 3.0)
  /// Minimum interval in s between positions in the window; positions of faster receivers are skipped.
  private static let shortestInterval = 0.19
  /// Maximum interval in s between two positions that are compared for noise or a start.
  private static let longestInterval = 2.5
  /// The speed in m/s that a start must exceed, and the speed below which the vehicle stops.
  private static let (startSpeed, stopSpeed) = (1.5, 1.0)
  /// Standard deviations of noise in the displacement of a start.
  private static let startDeviations = 6.0
  /// The maximum part of a start's displacement within one second. A larger one is a jump of the position.
  private static let largestPart = 0.6
  /// The minimum length in m of a piece of the path, and the minimum in standard deviations of noise.
  private static let (shortestStep, stepDeviations) = (10.0, 8.0)
  /// The minimum of both in stated 68 % radii.
  private static let radii = 2.0
  /// The initial, the smallest and the greatest standard deviation of noise in m.
  private static let (firstDeviation, leastDeviation, greatestDeviation) = (0.3, 0.05, 15.0)
  /// The share per second by which the median of squared differences moves. The first ones move it faster.
  private static let rate = 0.05
  /// The median of half the square of a vector whose two components have variance 1.
  private static let halfMedian = 0.693

  /// Returns the minimum length in m of a piece of the path; nil if positions are too far apart to measure their
  /// noise.
  /// - Parameter radius: the stated 68 % radius in m; nil if unknown.
  func step(radius: Double?) -> Double? {
    guard isMeasured else { return nil }
    return max(Self.shortestStep, Self.stepDeviations * deviation, Self.radii * (radius ?? 0))
  }

  private var isMeasured: Bool { points.count >= 3 }

  /// Standard deviation of the short-term noise on each axis in m.
  private var deviation: Double { variance.squareRoot() }

  /// Adds a position.
  /// - Parameter error: the largest plausible difference in m between positions of a vehicle at rest.
  mutating func add(_ coordinate: Coordinate, at time: Timestamp, error: Double) {
    if stay.map({ LocalFrame(origin: $0.coordinate).offset(of: coordinate).magnitude > error }) ?? true {
      stay = Point(time: time, coordinate: coordinate)
    }
    if let last = points.last {
      let interval = time.seconds(since: last.time)
      if interval > Self.longestInterval || interval < 0 { points.removeAll(keepingCapacity: true) }
      // A receiver can report a position several times.
      guard points.isEmpty || interval >= Self.shortestInterval && coordinate != last.coordinate
      else { return }
    }
    points.append(Point(time: time, coordinate: coordinate))
    learn()
    points.removeFirst(points.prefix { time.seconds(since: $0.time) > Self.span + 0.05 }.count)
  }

  /// Returns the time in s up to `time` for which the positions have been within the errors of each other.
  func stayed(until time: Timestamp) -> Double { stay.map { time.seconds(since: $0.time) } ?? 0 }

  /// Returns the displacement in m and the time in s of a start; nil if the positions of the last seconds do
  /// not prove one.
  /// - Parameter radius: the 68 % radius in m.
  func start(radius: Double) -> (way: Double, seconds: Double)? {
    guard let first = points.first, let last = points.last else { return nil }
    let seconds = last.time.seconds(since: first.time)
    guard seconds >= Self.shortestSpan else { return nil }
    let frame = LocalFrame(origin: first.coordinate)
    let way = frame.offset(of: last.coordinate).magnitude
    // A second difference of white noise has six times its variance, and a step of a random walk half of that.
    let noise = Self.startDeviations * deviation * (3 * seconds).squareRoot()
    guard isMeasured, way >= max(Self.startSpeed * seconds, noise, Self.radii * radius) else {
      return nil
    }
    for (index, point) in points.enumerated().dropLast() {
      let next = points[index + 1]
      let later = points[(index + 1)...].last { $0.time.seconds(since: point.time) <= 1.05 } ?? next
      let part = frame.offset(of: later.coordinate) - frame.offset(of: point.coordinate)
      if part.magnitude > Self.largestPart * way { return nil }
    }
    return (shortened(way), seconds)
  }

  /// True if a moving vehicle that is `way` metres from the last corner of its path after `seconds` has stopped.
  func isStop(way: Double, seconds: Double, radius: Double?) -> Bool {
    step(radius: radius).map { way <= $0 && seconds > $0 / Self.stopSpeed } ?? false
  }

  /// Returns a length in m without the mean contribution of noise.
  func shortened(_ way: Double) -> Double {
    isMeasured ? max(0, way * way - 2 * variance).squareRoot() : way
  }

  /// Records a start or continued motion.
  mutating func move() { isMoving = true }

  /// Records a stop: a start is looked for in later positions only.
  mutating func stop() {
    isMoving = false
    points.removeFirst(max(0, points.count - 1))
  }

  private mutating func learn() {
    guard isMeasured else { return }
    let (first, second, third) = (
      points[points.count - 3], points[points.count - 2], points[points.count - 1]
    )
    let (before, after) = (second.time.seconds(since: first.time), third.time.seconds(since: second.time))
    guard abs(after - before) < 0.1 * after else { return }
    let frame = LocalFrame(origin: second.coordinate)
    let difference = frame.offset(of: first.coordinate) + frame.offset(of: third.coordinate)
    let square = (difference.x * difference.x + difference.y * difference.y) / 12
    learned += min(after, 1)
    let factor = pow(1 + max(Self.rate, 1 / learned), min(after, 1))
    variance *= square / Self.halfMedian > variance ? factor : 1 / factor
    variance = min(
      max(variance, Self.leastDeviation * Self.leastDeviation),
      Self.greatestDeviation * Self.greatestDeviation)
  }
}
