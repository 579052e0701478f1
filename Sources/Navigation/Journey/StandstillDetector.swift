internal import Glibc

/// A conversion of speeds to distance that excludes the noise of a receiver at rest.
///
/// The length of a noisy velocity is never negative: the sum for a parked receiver is two kilometres a day.
/// At rest, the velocity is therefore integrated as a vector with a memory of 20 s, so that noise cancels. A
/// displacement beyond the noise counts as distance. While driving, the contribution of noise to the speed is
/// subtracted. The noise level is estimated, because receivers sometimes overstate it many times, and a test
/// against the stated value would mistake driving for rest.
struct StandstillDetector: Hashable, Sendable {
  private(set) var isStanding = true
  /// Variance of a velocity at rest on each axis, (m/s)².
  private var restVariance = Self.firstDeviation * Self.firstDeviation
  /// Variance on each axis of a velocity at low speed in (m/s)², from the change between two velocities.
  private var slowVariance = Self.firstDeviation * Self.firstDeviation
  /// The displacement east and north since the start of a rest, m.
  private var leg = SIMD2(0.0, 0)
  /// The time in s over which `leg` accumulated, at most `memory`.
  private var legTime = 0.0
  /// The time in s for which the speed has been low.
  private var slowTime = 0.0

  /// The initial standard deviation of a velocity at rest in m/s. It is typical of Doppler receivers; good
  /// ones have a tenth of it.
  private static let firstDeviation = 0.1
  /// The smallest plausible standard deviation in m/s.
  private static let leastDeviation = 0.02
  /// The time constant in s with which a displacement from rest decays. With a good receiver it detects a
  /// vehicle that creeps at 0.1 m/s.
  private static let memory = 20.0
  /// The time in s over which errors of velocities are correlated, because receivers filter their velocities.
  /// For a correlation of 0.8 at 1 Hz, the sum of the correlations is 9.
  private static let correlation = 9.0
  /// The minimum displacement from rest, in standard deviations of its noise: noise alone exceeds it less
  /// than once in 250,000.
  private static let confidence = 5.0
  /// The minimum displacement from rest in m.
  private static let shortestLeg = 1.0
  /// The speed in m/s, and in standard deviations, that a single velocity must exceed to prove motion.
  private static let (clearSpeed, clearDeviations) = (1.0, 6.0)
  /// The minimum speed without a course that counts as distance, in standard deviations. Noise exceeds it
  /// once in 90.
  private static let undirectedDeviations = 3.0
  /// A speed is low up to `slowDeviations` standard deviations, or up to `slowSpeed` in m/s if that is
  /// higher, but never above `fastestSlow` in m/s. After `stopTime` seconds of low speed, the vehicle is at
  /// rest.
  private static let (slowSpeed, fastestSlow, slowDeviations, stopTime) = (0.3, 1.5, 4.0, 3.0)
  /// The factor per second by which the median moves, from which the variance is estimated. The median adapts
  /// within a minute. Short creeping hardly affects it, unlike a mean.
  private static let step = 1.05
  /// The median of half the square of a vector whose two components have variance 1.
  private static let halfMedian = 0.693
  /// The largest plausible standard deviation in m/s.
  private static let greatestDeviation = 0.5
  /// The maximum speed in m/s at which noise is estimated from velocity changes.
  private static let fastestLearning = 2.0

  /// The standard deviation of the noise of a velocity on each axis, m/s.
  var deviation: Double { max(Self.leastDeviation, restVariance.squareRoot()) }

  /// A velocity at one time.
  struct Motion: Hashable, Sendable {
    var speed: Double
    /// The velocity east and north in m/s; nil without a course.
    var velocity: SIMD2<Double>?
  }

  /// Returns the distance in m driven between two times.
  mutating func process(_ before: Motion, _ now: Motion, seconds: Double, isStopped: Bool) -> Double {
    isStanding
      ? stand(before, now, seconds: seconds, isStopped: isStopped)
      : drive(before, now, seconds: seconds, isStopped: isStopped)
  }

  /// Restarts the detector after a time without observation.
  mutating func interrupt(isMoving: Bool) {
    (isStanding, leg, legTime, slowTime) = (!isMoving, .zero, 0, 0)
  }

  private mutating func stand(_ before: Motion, _ now: Motion, seconds: Double, isStopped: Bool) -> Double {
    guard !isStopped else {
      (leg, legTime) = (.zero, 0)
      // A source that detects rest reports speeds without noise. The variance therefore decreases, and the
      // next displacement counts as a start.
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
      // On each of the two axes, a difference has twice the variance of one velocity.
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

  /// Moves a variance by one step towards half the square of a velocity.
  private static func learn(_ square: Double, _ variance: inout Double, seconds: Double) {
    let factor = pow(step, min(seconds, 1))
    variance *= square / halfMedian > variance ? factor : 1 / factor
    variance = min(
      max(variance, Self.leastDeviation * Self.leastDeviation),
      Self.greatestDeviation * Self.greatestDeviation)
  }

  /// Returns the mean velocity east and north in m/s between two times. A velocity without a course continues
  /// the direction of the displacement, if its speed exceeds the noise.
  private func displacement(_ before: Motion, _ now: Motion) -> SIMD2<Double> {
    if let first = before.velocity, let second = now.velocity { return (first + second) / 2 }
    let speed = (before.speed + now.speed) / 2
    guard speed > Self.undirectedDeviations * deviation else { return .zero }
    let direction =
      now.velocity.map { $0 / max(now.speed, 1e-9) } ?? (leg == .zero ? SIMD2(0, 1) : leg / leg.magnitude)
    return speed * direction
  }

  /// Returns the speed without the contribution of noise: lateral noise lengthens a velocity by its variance
  /// over twice the speed.
  private func corrected(_ speed: Double) -> Double {
    max(0, speed * speed - restVariance).squareRoot()
  }
}
