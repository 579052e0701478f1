internal import Glibc

/// Makes metres of speeds, so that the noise of a receiver at rest adds nothing.
///
/// The length of a noisy velocity is never negative: added up, a parked receiver drives two kilometres a day. So at rest the velocity
/// is added up as a vector, which noise leaves where it is, with a memory of 20 s; what it reaches beyond the noise is a way, and
/// counts. Driving, the noise that lengthens a speed is taken off it. How large it is, is learned: what receivers state is
/// at times many times too large, and a test against that would take driving for rest.
struct StandingTest: Hashable, Sendable {
  private(set) var isStanding = true
  /// (m/s)²: variance on each axis at rest, and of the change between two velocities at a slow drive.
  private var restVariance = Self.firstDeviation * Self.firstDeviation
  private var slowVariance = Self.firstDeviation * Self.firstDeviation
  /// Metres east and north since the vehicle stands, as far as it remembers, over so many seconds.
  private var leg = SIMD2(0.0, 0)
  private var legTime = 0.0
  /// s that the vehicle has been slow.
  private var slowTime = 0.0

  /// m/s: what receivers that measure the Doppler shift have at rest, ten times more than good ones.
  private static let firstDeviation = 0.1
  /// m/s: no receiver is better.
  private static let leastDeviation = 0.02
  /// s: how far back a way from rest is seen. With a good receiver, a vehicle that creeps at 0.1 m/s still is.
  private static let memory = 20.0
  /// s: receivers filter their velocities, so that neighbours err alike. 9 is the sum of the correlation 0.8 at 1 Hz.
  private static let correlation = 9.0
  /// Deviations of noise that a way from rest must have: less than one in 250,000 has.
  private static let confidence = 5.0
  /// Metres that a way from rest has at least.
  private static let shortestLeg = 1.0
  /// m/s, and deviations: from here on one velocity is enough.
  private static let (clearSpeed, clearDeviations) = (1.0, 6.0)
  /// Deviations that a speed without a course must have to count as a way: one in 90 has.
  private static let undirectedDeviations = 3.0
  /// m/s: below, and within four deviations, a vehicle is slow; after 3 s of it, it stands.
  private static let (slowSpeed, fastestSlow, slowDeviations, stopTime) = (0.3, 1.5, 4.0, 3.0)
  /// By how much a second moves the median from which a variance is learned: it follows within a minute, and a vehicle that creeps
  /// for moments hardly moves it, as it would a mean.
  private static let step = 1.05
  /// The median of half the square of a vector whose two components have variance 1.
  private static let halfMedian = 0.693
  /// m/s: noise beyond is no receiver's.
  private static let greatestDeviation = 0.5
  /// m/s up to which noise is learned from how the velocity changes.
  private static let fastestLearning = 2.0

  /// m/s, one deviation of noise on each axis.
  var deviation: Double { max(Self.leastDeviation, restVariance.squareRoot()) }

  /// A velocity at one moment.
  struct Motion: Hashable, Sendable {
    var speed: Double
    /// m/s east and north; nil without a course.
    var velocity: SIMD2<Double>?
  }

  /// Metres between two moments.
  mutating func process(_ before: Motion, _ now: Motion, seconds: Double, isStopped: Bool) -> Double {
    isStanding
      ? stand(before, now, seconds: seconds, isStopped: isStopped)
      : drive(before, now, seconds: seconds, isStopped: isStopped)
  }

  /// The vehicle was not watched for a while.
  mutating func interrupt(isMoving: Bool) {
    (isStanding, leg, legTime, slowTime) = (!isMoving, .zero, 0, 0)
  }

  private mutating func stand(_ before: Motion, _ now: Motion, seconds: Double, isStopped: Bool) -> Double {
    guard !isStopped else {
      (leg, legTime) = (.zero, 0)
      // Who knows of himself that the vehicle stands tells no noise: what is left of it is a start.
      Self.learn(0, &restVariance, seconds: seconds)
      return 0
    }
    leg = leg * exp(-seconds / Self.memory) + displacement(before, now) * seconds
    legTime = min(legTime + seconds, Self.memory)
    let noise = Self.confidence * deviation * (Self.correlation * legTime / 2).squareRoot()
    let limit = max(Self.shortestLeg, noise)
    let isClear = now.speed > max(Self.clearSpeed, Self.clearDeviations * deviation)
    guard leg.magnitude > limit || isClear else {
      if leg.magnitude < limit / 2 { Self.learn(now.speed * now.speed / 2, &restVariance, seconds: seconds) }
      return 0
    }
    defer { (isStanding, leg, legTime, slowTime, slowVariance) = (false, .zero, 0, 0, restVariance) }
    return isClear ? max(leg.magnitude, (before.speed + now.speed) / 2 * seconds) : leg.magnitude
  }

  private mutating func drive(_ before: Motion, _ now: Motion, seconds: Double, isStopped: Bool) -> Double {
    if let first = before.velocity, let second = now.velocity, now.speed < Self.fastestLearning {
      // Each of the two axes of a difference has twice the variance of one velocity.
      let change = second - first
      Self.learn((change.x * change.x + change.y * change.y) / 4, &slowVariance, seconds: seconds)
    }
    let limit = min(
      Self.fastestSlow, max(Self.slowSpeed, Self.slowDeviations * slowVariance.squareRoot()))
    slowTime = max(before.speed, now.speed) < limit ? slowTime + seconds : 0
    if isStopped || slowTime >= Self.stopTime {
      (isStanding, leg, legTime) = (true, .zero, 0)
    }
    return (corrected(before.speed) + corrected(now.speed)) / 2 * seconds
  }

  /// Moves a variance towards that of half the square of a velocity.
  private static func learn(_ square: Double, _ variance: inout Double, seconds: Double) {
    let factor = pow(step, min(seconds, 1))
    variance *= square / halfMedian > variance ? factor : 1 / factor
    variance = min(
      max(variance, Self.leastDeviation * Self.leastDeviation),
      Self.greatestDeviation * Self.greatestDeviation)
  }

  /// m/s east and north between two moments. A velocity whose direction is not known carries a way on when it is more than noise.
  private func displacement(_ before: Motion, _ now: Motion) -> SIMD2<Double> {
    if let first = before.velocity, let second = now.velocity { return (first + second) / 2 }
    let speed = (before.speed + now.speed) / 2
    guard speed > Self.undirectedDeviations * deviation else { return .zero }
    let direction =
      now.velocity.map { $0 / max(now.speed, 1e-9) } ?? (leg == .zero ? SIMD2(0, 1) : leg / leg.magnitude)
    return speed * direction
  }

  /// Noise across the way lengthens a velocity by its variance over twice the speed.
  private func corrected(_ speed: Double) -> Double {
    max(0, speed * speed - restVariance).squareRoot()
  }
}
