internal import Glibc
internal import Spatial
internal import VehicleData

/// Compares a vehicle's heading with its course while it drives straight.
///
/// A constant difference comes from the mounting or the vehicle's own iron, and is learned slowly. A new
/// difference is a disturbance, or a magnetometer that has lost its calibration. In reverse the heading is
/// opposite to the course.
struct CourseCheck: Sendable {
  /// Minimum speed in m/s at which a course is used. At lower speeds a course is noisy, and lags in tight
  /// turns.
  private static let slowest = 5.0
  /// Maximum rate of turn in °/s.
  private static let fastestTurn = 4.0
  /// Maximum standard deviation of a course in degrees; less accurate courses are not used.
  private static let worstCourse = 10.0
  /// Time in s after a fix for which its course is compared with headings.
  private static let lifetime = 1.5
  /// Time constant in s with which the constant difference is learned.
  private static let learningTime = 120.0
  /// Driving time in s after which the learned difference is used.
  private static let settlingTime = 30.0
  /// Maximum difference in degrees that is corrected. A larger difference means that the device was mounted
  /// differently.
  private static let largestBias = 20.0
  /// Minimum tolerance in degrees between heading and course.
  private static let tolerance = 15.0
  /// Time in s for which a contradiction between heading and course must last before it is reported. The end
  /// of a contradiction must last as long.
  private static let doubtTime = 5.0

  /// Learned difference in degrees by which the heading is clockwise of the course; zero before it is
  /// learned.
  var bias: Double { driven >= Self.settlingTime ? learnt : 0 }
  /// True if heading and course have differed for more than `doubtTime`.
  private(set) var isContradicted = false
  /// Current difference between heading and course in degrees, after correction by `bias`; nil while the two
  /// cannot be compared.
  private(set) var difference: Double?

  private var course: (degrees: Double, accuracy: Double, timestamp: Timestamp)?
  private var lastCourse: (degrees: Double, timestamp: Timestamp)?
  private var learnt = 0.0
  /// Total driving time in s in which heading and course were compared.
  private var driven = 0.0
  private var lastComparison: Timestamp?
  private var changeBegan: Timestamp?

  /// Updates the vehicle's course.
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

  /// Compares a heading with the course.
  ///
  /// - Parameters:
  ///   - heading: degrees from true north, before correction.
  ///   - accuracy: standard deviation in degrees; nil if unknown.
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
    // The mean of all differences so far; after `learningTime`, an exponential average.
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
