internal import Glibc
internal import Spatial

/// Estimates a vehicle's velocity and acceleration from a receiver's noisy velocities.
///
/// A Kalman filter whose acceleration is a first-order Gauss-Markov process (R. Singer, "Estimating optimal
/// tracking filter performance for manned maneuvering targets", 1970), with independent axes. The noise of
/// the measurements is learned: the second difference of three consecutive velocities contains noise and
/// hardly any manoeuvre. Smooth velocities pass almost unchanged. For noisy ones, which receivers derive from
/// positions, acceleration and turn rate have little weight.
///
/// Sensitivity: number of reports at zero delay relative to linear dead reckoning, on both recorded drives,
/// as the mean over 10, 20 and 50 m and nine variants: as recorded; velocities derived from positions; white
/// noise of 0.1, 0.3 (twice) and 1 m/s; derived from positions with noise of 0.3 and 0.6 m (twice). Two
/// reports for each silence of the receiver are excluded, because dead reckoning has none. The result is
/// 0.938 and flat: the constants are within the plateau, not at the minimum.
struct VelocityEstimate: Sendable {
  /// Velocity in m/s, east and north.
  private(set) var velocity = SIMD2(0.0, 0)

  /// Duration of a manoeuvre in s. 3 s: 0.936, 8 s: 0.940.
  private static let persistence = 5.0
  /// Standard deviation in m/s² of a vehicle's acceleration on each axis. 0.4: 0.951, 0.6: 0.939, 1.2: 0.937,
  /// 2: 0.944.
  static let manoeuvre = 0.8
  /// Contribution of manoeuvres to the second difference in m/s. 0: 0.937, 0.2: 0.936, 0.4: 0.946.
  private static let jerk = 0.1
  /// Minimum assumed noise of a velocity in m/s. 0.02: 0.938, 0.1: 0.938.
  private static let leastDeviation = 0.05
  /// Relative change of the median by each fix: it follows within a minute, and jumps have little influence.
  /// 0.02: 0.933, 0.1: 0.938.
  private static let learning = 0.05
  /// Speed in m/s below which noise is not learned, because receivers hold their velocity constant.
  private static let slowestLearning = 1.0
  /// Speed in m/s below which acceleration and turn rate are only noise.
  private static let slowestTrend = 2.0
  /// Median of the square of a vector whose two components are normal with variance 1.
  private static let medianOfSquare = 1.386

  private var acceleration = SIMD2(0.0, 0)
  private var covariance = (velocity: 0.0, mixed: 0.0, acceleration: 0.0)
  private var last: MotionSample?
  private var lastChange: SIMD2<Double>?
  /// Median of the square of the second difference, scaled to that of a velocity, in (m/s)².
  private var median = 0.1

  /// Variance of the noise of a measured velocity on each axis in (m/s)².
  var noise: Double {
    max(Self.leastDeviation * Self.leastDeviation, median / Self.medianOfSquare - Self.jerk * Self.jerk)
  }

  mutating func process(_ sample: MotionSample) {
    defer { last = sample }
    guard let last, sample.velocityDeviation.isFinite,
      case let step = sample.timestamp.seconds(since: last.timestamp), step <= MotionSample.longestStep
    else {
      velocity = sample.velocity
      acceleration = .zero
      lastChange = nil
      covariance = (noise, 0, Self.manoeuvre * Self.manoeuvre)
      return
    }
    learn(from: (sample.velocity - last.velocity) / step, in: step, speed: sample.speed)
    predict(step)
    let variance = covariance.velocity + noise
    let gain = (velocity: covariance.velocity / variance, acceleration: covariance.mixed / variance)
    let innovation = sample.velocity - velocity
    velocity += gain.velocity * innovation
    acceleration += gain.acceleration * innovation
    covariance = (
      covariance.velocity * (1 - gain.velocity), covariance.mixed * (1 - gain.velocity),
      covariance.acceleration - gain.acceleration * covariance.mixed
    )
  }

  /// Change of speed (m/s²) and of course (rad/s, counterclockwise).
  var trend: (acceleration: Double, turnRate: Double) {
    let square = velocity.squaredLength
    guard square > Self.slowestTrend * Self.slowestTrend else { return (0, 0) }
    return (
      (acceleration * velocity).sum() / square.squareRoot(),
      (velocity.x * acceleration.y - velocity.y * acceleration.x) / square
    )
  }

  private mutating func learn(from change: SIMD2<Double>, in step: Double, speed: Double) {
    if let lastChange, speed > Self.slowestLearning {
      // White noise of variance 1 gives the second difference a variance of 6.
      let square = ((change - lastChange) * step).squaredLength / 6
      median *= square > median ? 1 + Self.learning : 1 / (1 + Self.learning)
    }
    lastChange = change
  }

  private mutating func predict(_ step: Double) {
    let rest = exp(-step / Self.persistence)
    let drive = (1 - rest * rest) * Self.manoeuvre * Self.manoeuvre
    let mean = step * (1 + rest) / 2
    velocity += mean * acceleration
    acceleration *= rest
    let (v, m, a) = covariance
    covariance = (
      v + 2 * mean * m + mean * mean * a + drive * step * step / 3,
      rest * (m + mean * a) + drive * step / 2, rest * rest * a + drive
    )
  }
}
