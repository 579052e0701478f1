internal import Glibc
internal import Spatial

/// Statistics of the inertial samples of a short time: variation between consecutive samples, variances and
/// means.
struct Vibration: Hashable, Sendable {
  /// The mean square of the difference between consecutive forces, (m/s²)².
  var forceEnergy = 1e-8
  /// The mean square of the difference between consecutive rotation rates, (rad/s)².
  var rateEnergy = 1e-10
  /// The mean square of the third difference of the rate divided by 20, (rad/s)²: the rate that the samples do not
  /// resolve. That of independent samples is their variance; that of slow turns is nearly 0.
  var unresolvedRate = 0.0
  /// The mean interval of the samples, s.
  var interval = 0.01
  /// The variance of the force, (m/s²)².
  var forceVariance = 1e-8
  /// The variance of the rotation rate, (rad/s)².
  var rateVariance = 1e-10
  /// The mean force in the device frame, m/s².
  var meanForce = Vector3.zero
  /// The mean rotation rate in the device frame, rad/s.
  var meanRate = Vector3.zero

  /// The logarithms of the four standard deviations, which are the features of the stop detector.
  var features: SIMD4<Double> {
    0.5 * SIMD4(log(forceEnergy), log(rateEnergy), log(forceVariance), log(rateVariance))
  }
}

/// The samples of the last three seconds, summed in bins.
///
/// Samples faster than 130 Hz are averaged first, because the difference between consecutive samples depends
/// on their interval.
struct SampleWindow: Sendable {
  private static let capacity = 64
  private static let binLength = 0.05
  private static let shortestSample = 1 / 130.0

  private struct Bin: Sendable {
    var seconds = 0.0
    var count = 0.0
    var force = Vector3.zero
    var rate = Vector3.zero
    var forceSquares = 0.0
    var rateSquares = 0.0
    var forceSteps = 0.0
    var rateSteps = 0.0
    var rateThirds = 0.0
  }

  private var bins = [Bin](repeating: Bin(), count: capacity)
  private var newest = 0
  private var used = 0
  private var sample = (force: Vector3.zero, rate: Vector3.zero, count: 0.0, seconds: 0.0)
  private var previous: (force: Vector3, rate: Vector3)?
  /// The last first and second differences of the rate, rad/s.
  private var rateDifferences = (first: Vector3.zero, second: Vector3.zero)

  mutating func reset() {
    for index in bins.indices { bins[index] = Bin() }
    (newest, used) = (0, 0)
    sample = (.zero, .zero, 0, 0)
    previous = nil
    rateDifferences = (.zero, .zero)
  }

  /// Adds a sample (m/s², rad/s) `seconds` after the previous one.
  @inline(__always)
  mutating func add(force: Vector3, rate: Vector3, seconds: Double) {
    sample.force += force
    sample.rate += rate
    sample.count += 1
    sample.seconds += seconds
    guard sample.seconds >= Self.shortestSample || previous == nil else { return }
    let (f, w) = (sample.force / sample.count, sample.rate / sample.count)
    if let previous { append(f, w, f - previous.force, w - previous.rate, sample.seconds) }
    previous = (f, w)
    sample = (.zero, .zero, 0, 0)
  }

  @inline(__always)
  private mutating func append(
    _ force: Vector3, _ rate: Vector3, _ forceStep: Vector3, _ rateStep: Vector3, _ seconds: Double
  ) {
    if used == 0 || bins[newest].seconds >= Self.binLength - 1e-6 {
      newest = (newest + 1) % Self.capacity
      used = min(Self.capacity, used + 1)
      bins[newest] = Bin()
    }
    bins[newest].seconds += seconds
    bins[newest].count += 1
    bins[newest].force += force
    bins[newest].rate += rate
    bins[newest].forceSquares += force.dot(force)
    bins[newest].rateSquares += rate.dot(rate)
    bins[newest].forceSteps += forceStep.dot(forceStep)
    bins[newest].rateSteps += rateStep.dot(rateStep)
    let second = rateStep - rateDifferences.first
    let third = second - rateDifferences.second
    rateDifferences = (rateStep, second)
    bins[newest].rateThirds += third.dot(third)
  }

  /// Returns the vibration over the last `seconds`, with at least `samples` samples.
  func vibration(seconds: Double, samples: Double) -> Vibration {
    var sum = Bin()
    var index = newest
    for _ in 0..<used where sum.seconds < seconds - 0.5 * Self.binLength || sum.count < samples {
      let bin = bins[index]
      sum.seconds += bin.seconds
      sum.count += bin.count
      sum.force += bin.force
      sum.rate += bin.rate
      sum.forceSquares += bin.forceSquares
      sum.rateSquares += bin.rateSquares
      sum.forceSteps += bin.forceSteps
      sum.rateSteps += bin.rateSteps
      sum.rateThirds += bin.rateThirds
      index = (index + Self.capacity - 1) % Self.capacity
    }
    guard sum.count > 0 else { return Vibration() }
    let (force, rate) = (sum.force / sum.count, sum.rate / sum.count)
    // The minimum values keep the logarithms finite if all samples are equal.
    return Vibration(
      forceEnergy: sum.forceSteps / sum.count + 1e-8, rateEnergy: sum.rateSteps / sum.count + 1e-10,
      unresolvedRate: sum.rateThirds / sum.count / 20, interval: sum.seconds / sum.count,
      forceVariance: max(0, sum.forceSquares / sum.count - force.dot(force)) + 1e-8,
      rateVariance: max(0, sum.rateSquares / sum.count - rate.dot(rate)) + 1e-10,
      meanForce: force, meanRate: rate)
  }
}
