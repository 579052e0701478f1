internal import Glibc
internal import Spatial

/// Compares a vehicle's heading with its course, while it drives straight enough for the two to be the same.
///
/// A steady difference is the mounting or the vehicle's own iron: it is learnt slowly. One that comes is a disturbance, or
/// a magnetometer that has lost its calibration. A vehicle that reverses has its heading the other way round.
struct CourseCheck: Sendable {
  /// Metres per second: slower, a course is noise, and a tight turn makes it lag.
  private static let slowest = 5.0
  /// Degrees per second.
  private static let fastestTurn = 4.0
  /// Degrees.
  private static let worstCourse = 10.0
  /// Seconds that a course holds.
  private static let lifetime = 1.5
  /// Seconds of driving over which the steady difference is learnt, and after which it is used.
  private static let learningTime = 120.0
  private static let settlingTime = 30.0
  /// Degrees: a larger difference is no residue of a calibration but a device that was mounted otherwise.
  private static let largestBias = 20.0
  /// Degrees that heading and course may differ at the least.
  private static let tolerance = 15.0
  /// Seconds that a contradiction must last to be believed, and agreement to end it.
  private static let doubtTime = 5.0

  /// Degrees by which the heading lies clockwise of the course, as learnt; zero before.
  var bias: Double { driven >= Self.settlingTime ? learnt : 0 }
  /// Whether heading and course have differed for too long.
  private(set) var isContradicted = false
  /// Degrees by which they differ now, with the bias taken off; nil while they cannot be compared.
  private(set) var difference: Double?

  private var course: (degrees: Double, accuracy: Double, timestamp: Timestamp)?
  private var lastCourse: (degrees: Double, timestamp: Timestamp)?
  private var learnt = 0.0
  /// Seconds of comparison.
  private var driven = 0.0
  private var lastComparison: Timestamp?
  private var changeBegan: Timestamp?

  /// Learns of the vehicle's motion over ground.
  mutating func observe(_ location: Location) {
    guard let speed = location.speed, let degrees = location.course, speed >= Self.slowest,
      (location.courseAccuracy ?? 0) <= Self.worstCourse
    else {
      (course, lastCourse) = (nil, nil)
      return
    }
    defer { lastCourse = (degrees, location.timestamp) }
    guard let lastCourse, case let step = location.timestamp.seconds(since: lastCourse.timestamp),
      step > 0, step <= 2 * Self.lifetime,
      abs(signedDegrees(from: lastCourse.degrees, to: degrees)) <= Self.fastestTurn * step
    else {
      course = nil
      return
    }
    course = (degrees, location.courseAccuracy ?? 2, location.timestamp)
  }

  /// Compares.
  ///
  /// - Parameters:
  ///   - heading: degrees from true north, before the bias is taken off.
  ///   - accuracy: degrees; nil when unknown.
  mutating func compare(_ heading: Double, accuracy: Double?, at timestamp: Timestamp) {
    guard let course, abs(timestamp.seconds(since: course.timestamp)) <= Self.lifetime else {
      (difference, lastComparison, changeBegan) = (nil, nil, nil)
      return
    }
    var offset = signedDegrees(from: course.degrees, to: heading)
    if abs(offset) > 135 { offset = signedDegrees(from: 180, to: offset) }
    let step = lastComparison.map { min(Self.lifetime, max(0, timestamp.seconds(since: $0))) } ?? 0
    lastComparison = timestamp
    let rest = offset - bias
    difference = rest
    let spread = accuracy.map { ($0 * $0 + course.accuracy * course.accuracy).squareRoot() } ?? 0
    decide(abs(rest) > max(Self.tolerance, 3 * spread), at: timestamp)
    guard abs(offset) <= Self.largestBias, !isContradicted else { return }
    driven += step
    // The mean of all so far, until that is as long as the learning time.
    learnt += step / min(max(driven, step, 1e-9), Self.learningTime) * (offset - learnt)
  }

  private mutating func decide(_ differs: Bool, at timestamp: Timestamp) {
    guard differs != isContradicted else {
      changeBegan = nil
      return
    }
    let since = changeBegan ?? timestamp
    changeBegan = since
    guard timestamp.seconds(since: since) >= Self.doubtTime else { return }
    isContradicted = differs
    changeBegan = nil
  }
}
