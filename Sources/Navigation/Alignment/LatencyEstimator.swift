internal import Glibc
internal import Spatial

/// An estimator of the receiver's latency that requires neither attitude nor mounting: it compares the changes of the
/// course with the rotation about the vertical.
///
/// The rear axle moves in the direction of the vehicle's axis ψ. With a rate of turn ω and a speed v, the course c of an
/// antenna L in front of it, on tyres that slip by an angle k for each m/s² of lateral acceleration, is
///
///     c(t + latency) = ψ(t) + Lω(t)/v − kvω(t)
///
/// so that lever arm and slip look like a latency of kv − L/v. Speeds and priors separate them: for each candidate, the
/// squared residual is the least for any gyroscope bias, L and k, plus the squares of those in units of their prior
/// standard deviations. The noise of the courses is that of the best candidate.
struct LatencyEstimator: Sendable {
  /// A latency in s, with its standard deviation.
  struct Estimate: Hashable, Sendable {
    var latency: Double
    var deviation: Double
  }

  /// The terms of a residual in m/s: the residual itself and its derivatives by bias, L and k.
  private typealias Terms = SIMD4<Double>

  /// Weighted sums of the products of all terms.
  private struct Products: Sendable {
    private var (residual, bias, lever, slip) = (Terms.zero, Terms.zero, Terms.zero, Terms.zero)

    mutating func add(_ terms: Terms, share: Double) {
      residual = share * residual + terms.x * terms
      bias = share * bias + terms.y * terms
      lever = share * lever + terms.z * terms
      slip = share * slip + terms.w * terms
    }

    /// Returns the least sum of squares of the residual and of the parameters, which are multiplied by `penalties`.
    func leastSum(_ penalties: Terms) -> Double {
      var (residual, lever, slip) = (residual, lever, slip)
      let first = bias / (bias.y + penalties.y)
      residual -= residual.y * first
      lever -= lever.y * first
      slip -= slip.y * first
      let second = lever / (lever.z + penalties.z)
      residual -= residual.z * second
      slip -= slip.z * second
      residual -= slip * (residual.w / (slip.w + penalties.w))
      return max(0, residual.x)
    }
  }

  private struct Course: Sendable {
    var time: Double
    var angle: Double
    var speed: Double
    /// The time in s over which the course is the mean.
    var span: Double
    /// The angle in rad and the rate in rad/s of the vehicle about the vertical, to the right, by each candidate; nil as long
    /// as samples after the course are missing.
    var rotations: InlineArray<25, SIMD2<Double>>?
  }

  /// The first candidate and the step in s.
  private static let (first, step) = (-0.4, 0.1)
  private static let candidates = 25
  /// The interval of the rotations in s.
  private static let interval = 0.1
  private static let capacity = 96
  /// The speed in m/s from which a course is used.
  static let slowest = 3.0
  /// The range of the time in s between two courses.
  private static let span = 0.9...3.0
  /// The time constant in s with which earlier courses lose weight.
  private static let memory = 300.0
  /// The time constant in s of the vertical.
  private static let levelling = 5.0
  /// The log-likelihood ratio to candidates that are `apart` s away, from which the latency is known (8: odds of 3,000 to 1).
  private static let (lead, apart) = (8.0, 0.3)
  /// The same ratio from which a latency is more likely than the assumed one (2: odds of 7 to 1).
  private static let likelyLead = 2.0
  /// The prior of a latency: a normal distribution with this standard deviation in s, and a constant share for all others.
  private static let (usual, unusual) = (0.3, 0.01)
  /// The standard deviation in s of a latency that was known in an earlier run.
  private static let stored = 0.1
  /// The difference in s that the filter corrects itself.
  private static let tolerance = 0.3
  /// The number of courses from which candidates are compared; four of them determine the parameters of a candidate.
  private static let leastCourses = 8.0
  /// The least mean square of a residual in (m/s)².
  private static let leastSquare = 2.5e-3
  /// The least standard deviation of a known latency in s.
  private static let leastDeviation = 0.05
  /// The prior standard deviation of the gyroscope's bias in rad/s (3°/s, as in an alignment).
  private static let bias = 0.05

  /// The prior standard deviations of the distance from the rear axle to the antenna in m, and of the slip in rad for each
  /// m/s² of lateral acceleration.
  private let (lever, slip): (Double, Double)

  private var upward = Vector3.zero
  /// The rotation about the vertical to the right in rad since the start.
  private var angle = 0.0
  /// The integrals of the rate and of the force since the last step, and its time in s.
  private var (turn, weighted, sinceStep) = (Vector3.zero, Vector3.zero, 0.0)
  /// The rotations at the end of each interval, with their times, in a ring.
  private var angles = InlineArray<96, SIMD2<Double>>(repeating: .zero)
  private var newest = 0
  private var count = 0
  private var products = InlineArray<25, Products>(repeating: Products())
  private var costs = InlineArray<25, Double>(repeating: 0)
  /// The number of courses, weighted.
  private var weight = 0.0
  /// The mean square of the best candidate's residuals in (m/s)².
  private var noise = leastSquare
  private var last: Course?
  /// The course before `last`; nil if it is too old.
  private var earlier: Course?

  /// The latency; nil as long as it is unknown.
  private(set) var estimate: Estimate?
  /// The index of the most likely candidate; nil as long as there are too few courses.
  private var best: Int?
  /// The log-likelihood ratio of the best candidate to each other one.
  private var leads = InlineArray<25, Double>(repeating: 0)
  /// The probability of each candidate by the prior, and by prior and courses, without a common factor.
  private var prior = InlineArray<25, Double>(repeating: 1)
  private var probabilities = InlineArray<25, Double>(repeating: 1)

  init(_ parameters: NavigationFilter.Parameters) {
    (lever, slip) = (parameters.antennaPrior, parameters.slipPrior)
    setPrior(0, deviation: Self.usual)
  }

  /// Sets the latency of an earlier run in s. Another one remains possible, because the receiver may have been exchanged.
  mutating func expect(_ latency: Double) { setPrior(latency, deviation: Self.stored) }

  /// Discards rotations and courses after a gap, and retains what was learned.
  mutating func interrupt() {
    (count, last, earlier) = (0, nil, nil)
    (turn, weighted, sinceStep, upward) = (.zero, .zero, 0, .zero)
  }

  /// Adds the mean force and rate (m/s², rad/s) of an interval that ends at a time in s.
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
    if let course = last {
      let rotations = rotations(of: course)
      last?.rotations = rotations
      if let earlier, let last { compare(earlier, last) }
    }
    earlier = last.flatMap { time - $0.time <= Self.span.upperBound ? $0 : nil }
    last = Course(time: time, angle: atan2(velocity.x, velocity.y), speed: speed, span: span)
  }

  private mutating func compare(_ start: Course, _ end: Course) {
    guard let before = start.rotations, let after = end.rotations else { return }
    let interval = end.time - start.time
    let change = end.angle - start.angle
    let speed = min(start.speed, end.speed)
    let share = exp(-interval / Self.memory)
    weight = share * weight + 1
    // The residual itself has no prior.
    let penalties = noise / Terms(.infinity, Self.bias * Self.bias, lever * lever, slip * slip)
    for index in 0..<Self.candidates {
      let (first, second) = (before[index], after[index])
      let residual = change - (second.x - first.x)
      let turns = (residual / (2 * Double.pi)).rounded()
      let terms = Terms(
        residual - 2 * Double.pi * turns, interval,
        second.y / end.speed - first.y / start.speed, second.y * end.speed - first.y * start.speed)
      products[index].add(speed * terms, share: share)
      costs[index] = products[index].leastSum(penalties)
    }
    judge()
  }

  /// Returns angle and rate at the time of a course, earlier by each candidate; nil if they are not in the ring.
  private func rotations(of course: Course) -> InlineArray<25, SIMD2<Double>>? {
    // The candidates follow each other in steps of the ring.
    let half = max(Self.interval, course.span / 2)
    var (ends, middles, starts) = (0, 0, 0)
    var rotations = InlineArray<25, SIMD2<Double>>(repeating: .zero)
    for index in 0..<Self.candidates {
      let time = course.time - Self.first - Self.step * Double(index)
      guard let end = angle(at: time + half, &ends), let middle = angle(at: time, &middles),
        let start = angle(at: time - half, &starts)
      else { return nil }
      let mean = course.span > 0 ? (start + 4 * middle + end) / 6 : middle
      rotations[index] = SIMD2(mean, (end - start) / (2 * half))
    }
    return rotations
  }

  /// Returns the angle at a time in s; nil if the time is not in the ring.
  ///
  /// - Parameter age: the index, from the newest entry, from which entries are searched for an earlier one.
  private func angle(at time: Double, _ age: inout Int) -> Double? {
    func entry(_ age: Int) -> SIMD2<Double> {
      angles[newest >= age ? newest - age : newest + Self.capacity - age]
    }
    guard count > 1, entry(age).x >= time else { return nil }
    while age + 1 < count, entry(age + 1).x > time { age += 1 }
    guard age + 1 < count else { return nil }
    let (earlier, later) = (entry(age + 1), entry(age))
    let share = later.x > earlier.x ? (time - earlier.x) / (later.x - earlier.x) : 0
    return earlier.y + share * (later.y - earlier.y)
  }

  private mutating func judge() {
    (best, estimate) = (nil, nil)
    guard weight > Self.leastCourses else { return }
    var best = 0
    for index in 1..<Self.candidates where costs[index] < costs[best] { best = index }
    self.best = best
    noise = max(Self.leastSquare, costs[best] / (weight - 4))
    let least = noise * (weight - 4)
    for index in 0..<Self.candidates {
      leads[index] = 0.5 * (weight - 4) * log(max(1, costs[index] / least))
      probabilities[index] = prior[index] * exp(-leads[index])
    }
    guard best > 0, best < Self.candidates - 1 else { return }
    let distance = Int((Self.apart / Self.step).rounded())
    for index in 0..<Self.candidates where abs(index - best) >= distance && leads[index] < Self.lead {
      return
    }
    let (before, after) = (costs[best - 1], costs[best + 1])
    let curvature = before - 2 * costs[best] + after
    guard curvature > 0 else { return }
    let shift = 0.5 * (before - after) / curvature
    estimate = Estimate(
      latency: Self.first + Self.step * (Double(best) + shift),
      deviation: max(Self.leastDeviation, Self.step * (2 * noise / curvature).squareRoot()))
  }

  /// Returns the most likely latency in s if it is much more likely than an assumed one; nil otherwise.
  func likelier(than assumed: Double) -> Double? {
    guard let best else { return nil }
    let index = Int(((min(10, max(-10, assumed)) - Self.first) / Self.step).rounded())
    let other = min(Self.candidates - 1, max(0, index))
    guard abs(best - other) >= 2, leads[other] >= Self.likelyLead else { return nil }
    return Self.first + Self.step * Double(best)
  }

  /// Returns the root of the mean square in s of the differences from an assumed latency, of which those below `tolerance`
  /// count as zero.
  func doubt(about assumed: Double) -> Double {
    var (sum, total) = (0.0, 0.0)
    for index in 0..<Self.candidates {
      let latency = Self.first + Self.step * Double(index)
      let difference = latency - assumed
      total += probabilities[index]
      if abs(difference) > Self.tolerance { sum += probabilities[index] * difference * difference }
    }
    return (sum / total).squareRoot()
  }

  private mutating func setPrior(_ expected: Double, deviation: Double) {
    for index in 0..<Self.candidates {
      let ratio = (Self.first + Self.step * Double(index) - expected) / deviation
      prior[index] = exp(-0.5 * ratio * ratio) * Self.usual / deviation + Self.unusual
      probabilities[index] = prior[index] * exp(-leads[index])
    }
  }
}
