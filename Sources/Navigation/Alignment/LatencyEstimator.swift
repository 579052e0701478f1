internal import Glibc
internal import Spatial

/// An estimator of the receiver's latency that needs neither attitude nor mounting: it compares the changes of the
/// course with the rotation about the vertical.
///
/// For each candidate, the residual is the change of the course minus the rotation in the same time, earlier by the
/// candidate. A constant bias of the gyroscope is eliminated. The noise of the courses is that of the best candidate.
struct LatencyEstimator: Sendable {
  /// A latency in s, with its standard deviation.
  struct Estimate: Hashable, Sendable {
    var latency: Double
    var deviation: Double
  }

  /// Weighted sums of the residuals of one candidate.
  private struct Sums: Sendable {
    /// Sum of the squared residuals, (m/s)².
    var squares = 0.0
    /// Sum of the products of residual and interval.
    var products = 0.0
  }

  private struct Course: Sendable {
    var time: Double
    var angle: Double
    var speed: Double
    /// Time in s over which the course is the mean.
    var span: Double
  }

  /// The first candidate and the step in s.
  private static let (first, step) = (-0.4, 0.1)
  private static let candidates = 25
  /// Interval of the rotations in s.
  private static let interval = 0.1
  private static let capacity = 96
  /// Speed in m/s from which a course is used.
  private static let slowest = 3.0
  /// Range of the time in s between two courses.
  private static let span = 0.9...3.0
  /// Time constant in s with which earlier courses lose weight.
  private static let memory = 300.0
  /// Time constant in s of the vertical.
  private static let levelling = 5.0
  /// Log-likelihood ratio to candidates that are `apart` s away, from which the latency is known (8: odds of 3,000 to 1).
  private static let (lead, apart) = (8.0, 0.3)
  /// The same ratio from which a latency is more likely than the assumed one (2: odds of 7 to 1).
  private static let likelyLead = 2.0
  /// Number of courses from which candidates are compared.
  private static let leastCourses = 5.0
  /// Least mean square of a residual, (m/s)².
  private static let leastSquare = 1e-4
  /// Standard deviation of a known latency, s.
  private static let deviation = 0.05

  private var upward = Vector3.zero
  /// The rotation about the vertical to the right in rad since the start.
  private var angle = 0.0
  /// Integrals of the rate and of the force since the last step, and its time in s.
  private var (turn, weighted, sinceStep) = (Vector3.zero, Vector3.zero, 0.0)
  /// The rotations at the end of each interval, with their times, in a ring.
  private var angles = InlineArray<96, SIMD2<Double>>(repeating: .zero)
  private var newest = 0
  private var count = 0
  private var sums = InlineArray<25, Sums>(repeating: Sums())
  /// Sum of the squares of the intervals, and number of courses, both weighted.
  private var (intervals, weight) = (0.0, 0.0)
  private var last: Course?
  /// The course before `last`; nil if it is too old.
  private var earlier: Course?

  /// The latency; nil as long as it is unknown.
  private(set) var estimate: Estimate?
  /// The index of the most likely candidate; nil as long as there are too few courses.
  private var best: Int?

  /// Discards rotations and courses after a gap, and retains what was learned.
  mutating func interrupt() {
    (count, last, earlier) = (0, nil, nil)
    (turn, weighted, sinceStep, upward) = (.zero, .zero, 0, .zero)
  }

  /// Adds a sample (m/s², rad/s) at a time in s.
  @inline(__always)
  mutating func add(force: Vector3, rate: Vector3, seconds: Double, time: Double) {
    turn += rate * seconds
    weighted += force * seconds
    sinceStep += seconds
    if sinceStep >= Self.interval - 1e-6 { endStep(at: time) }
  }

  private mutating func endStep(at time: Double) {
    let share = upward == .zero ? 1 : min(1, sinceStep / Self.levelling)
    upward += (weighted / sinceStep - upward) * share
    let length = upward.length
    if length > 1 { angle -= turn.dot(upward) / length }
    (turn, weighted, sinceStep) = (.zero, .zero, 0)
    newest = (newest + 1) % Self.capacity
    count = min(count + 1, Self.capacity)
    angles[newest] = SIMD2(time, angle)
  }

  /// Adds a velocity (m/s), which is the mean of `span` seconds around a time in s.
  mutating func observe(_ velocity: Vector3, at time: Double, span: Double) {
    let speed = hypot(velocity.x, velocity.y)
    guard speed >= Self.slowest else {
      (earlier, last) = (nil, nil)
      return
    }
    if let last, time - last.time < Self.span.lowerBound - 1e-3 { return }
    // The rotation after a course is needed for a negative latency, so both are compared with the next course.
    if let earlier, let last { compare(earlier, last) }
    let course = Course(time: time, angle: atan2(velocity.x, velocity.y), speed: speed, span: span)
    earlier = last.flatMap { time - $0.time <= Self.span.upperBound ? $0 : nil }
    last = course
  }

  private mutating func compare(_ start: Course, _ end: Course) {
    let interval = end.time - start.time
    let change = remainder(end.angle - start.angle, 2 * Double.pi)
    let speed = min(start.speed, end.speed)
    var residuals = InlineArray<25, Double>(repeating: 0)
    for index in 0..<Self.candidates {
      let latency = Self.first + Self.step * Double(index)
      guard let before = rotation(of: start, latency), let after = rotation(of: end, latency) else { return }
      residuals[index] = speed * remainder(change - (after - before), 2 * Double.pi)
    }
    let share = exp(-interval / Self.memory)
    let own = speed * interval
    for index in 0..<Self.candidates {
      sums[index].squares = share * sums[index].squares + residuals[index] * residuals[index]
      sums[index].products = share * sums[index].products + residuals[index] * own
    }
    intervals = share * intervals + own * own
    weight = share * weight + 1
    best = mostLikely()
    estimate = judged()
  }

  /// Returns the mean rotation over the time of a course, earlier by a latency in s; nil if it is not in the ring.
  private func rotation(of course: Course, _ latency: Double) -> Double? {
    guard let middle = rotation(at: course.time - latency) else { return nil }
    guard course.span > 0 else { return middle }
    guard let start = rotation(at: course.time - latency - course.span / 2),
      let end = rotation(at: course.time - latency + course.span / 2)
    else { return nil }
    return (start + 4 * middle + end) / 6
  }

  /// Returns the rotation at a time in s; nil if the time is not in the ring.
  private func rotation(at time: Double) -> Double? {
    func entry(_ age: Int) -> SIMD2<Double> { angles[(newest + Self.capacity - age) % Self.capacity] }
    guard count > 1, case let since = entry(0).x - time, since >= 0 else { return nil }
    var age = Int(min(Double(count - 1), since / Self.interval))
    while age > 0, entry(age).x < time { age -= 1 }
    while age + 1 < count, entry(age + 1).x > time { age += 1 }
    guard age + 1 < count else { return nil }
    let (earlier, later) = (entry(age + 1), entry(age))
    let share = later.x > earlier.x ? (time - earlier.x) / (later.x - earlier.x) : 0
    return earlier.y + share * (later.y - earlier.y)
  }

  private func judged() -> Estimate? {
    guard let best, best > 0, best < Self.candidates - 1 else { return nil }
    let distance = Int((Self.apart / Self.step).rounded())
    for index in 0..<Self.candidates where abs(index - best) >= distance && lead(of: best, index) < Self.lead
    {
      return nil
    }
    let (before, after) = (cost(best - 1), cost(best + 1))
    let curvature = before - 2 * cost(best) + after
    let shift = curvature > 0 ? 0.5 * (before - after) / curvature : 0
    return Estimate(latency: Self.first + Self.step * (Double(best) + shift), deviation: Self.deviation)
  }

  /// Returns the most likely latency in s if it is much more likely than an assumed one; nil otherwise.
  func likelier(than assumed: Double) -> Double? {
    guard let best else { return nil }
    let index = Int(((assumed - Self.first) / Self.step).rounded())
    let other = min(Self.candidates - 1, max(0, index))
    guard abs(best - other) >= 2, lead(of: best, other) >= Self.likelyLead else { return nil }
    return Self.first + Self.step * Double(best)
  }

  /// Returns the index of the candidate with the smallest cost; nil with too few courses.
  private func mostLikely() -> Int? {
    guard weight > Self.leastCourses, intervals > 0 else { return nil }
    var best = 0
    for index in 1..<Self.candidates where cost(index) < cost(best) { best = index }
    return best
  }

  /// Returns the sum of the squared residuals of a candidate without the bias of the gyroscope.
  private func cost(_ index: Int) -> Double {
    sums[index].squares - sums[index].products * sums[index].products / intervals
  }

  /// Returns the log-likelihood ratio of two candidates.
  private func lead(of best: Int, _ other: Int) -> Double {
    let least = max(cost(best), Self.leastSquare * weight)
    return 0.5 * weight * log(max(cost(other), least) / least)
  }
}
