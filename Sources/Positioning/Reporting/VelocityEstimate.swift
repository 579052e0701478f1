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
/// Sensitivity of the constants: the result is the number of reports at zero delay relative to linear dead
/// reckoning, on both recorded drives. It is the mean over bounds of 10, 20 and 50 m and nine variants of the
/// velocities. These are the recorded velocities; velocities derived from positions; white noise of 0.1, 0.3
/// (twice) and 1 m/s; and velocities derived from positions with noise of 0.3 and 0.6 m (twice). Two reports
/// for each silence of the receiver are excluded, because dead reckoning has none. The chosen constants
/// result in a relative number of 0.938. Results change little around them: the constants lie on a plateau,
/// not at the minimum.
struct VelocityEstimate: Sendable {
  /// Velocity in m/s, east and north.
  private(set) var velocity = SIMD2(0.0, 0)

  /// Duration of a manoeuvre in s. Relative number of reports with other values: 0.936 with 3 s, 0.940 with 8
  /// s.
  private static let persistence = 5.0
  /// Standard deviation in m/s² of a vehicle's acceleration on each axis. Relative number of reports with
  /// other values: 0.951 with 0.4, 0.939 with 0.6, 0.937 with 1.2, 0.944 with 2.
  static let manoeuvre = 0.8
  /// Contribution of manoeuvres to the second difference in m/s. Relative number of reports with other
  /// values: 0.937 with 0, 0.936 with 0.2, 0.946 with 0.4.
  private static let jerk = 0.1
  /// Minimum assumed noise of a velocity in m/s. Relative number of reports with other values: 0.938 with
  /// 0.02 and 0.1.
  private static let leastDeviation = 0.05
  /// Relative change of the median by each fix: the median follows within a minute, and jumps have little
  /// influence. Relative number of reports with other values: 0.933 with 0.02, 0.938 with 0.1.
  private static let learning = 0.05
  /// Speed in m/s below which noise is not learned, because receivers then report a constant velocity.
  private static let slowestLearning = 1.0
  /// Speed in m/s below which acceleration and turn rate are only noise.
  private static let slowestTrend = 2.0
  /// Median of the square of a vector whose two components are normal with variance 1.
  private static let medianOfSquare = 1.386

  private var acceleration = SIMD2(0.0, 0)
  private var covariance = (velocity: 0.0, mixed: 0.0, acceleration: 0.0)
  private var last: MotionSample?
  private var lastChange: SIMD2<Double>?
  /// Median of the square of the second difference, scaled to the square of a velocity error, in (m/s)².
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
