internal import Glibc
internal import Spatial

/// A vehicle's velocity and acceleration from a receiver's velocities, however noisy these are.
///
/// A Kalman filter whose acceleration is a first-order Gauss-Markov process (R. Singer, "Estimating optimal tracking filter
/// performance for manned maneuvering targets", 1970), each axis by itself. The noise of the measurements is learned as they
/// come: the second difference of three velocities in a row is noise and hardly manoeuvre. Smooth velocities pass nearly as
/// they are; of noisy ones, as receivers derive from positions, little acceleration and turn is believed.
///
/// Sensitivity, as reports at zero delay over those of linear dead reckoning, on both recorded drives, the mean over 10, 20 and
/// 50 m, nine variants of each: as recorded; velocities derived from positions; white noise of 0.1, 0.3 (twice) and 1 m/s; derived
/// from positions with noise of 0.3 and 0.6 m (twice). Two reports for each silence of the receiver are left out, as dead
/// reckoning has none. It is 0.938 as it stands and flat: the constants stand within the plateau, not at the lowest value.
struct VelocityEstimate: Sendable {
  /// Metres per second east and north.
  private(set) var velocity = SIMD2(0.0, 0)

  /// Seconds: how long a manoeuvre lasts. 3 s: 0.936, 8 s: 0.940.
  private static let persistence = 5.0
  /// m/s², one standard deviation of a vehicle's acceleration on each axis. 0.4: 0.951, 0.6: 0.939, 1.2: 0.937, 2: 0.944.
  private static let manoeuvre = 0.8
  /// m/s: what manoeuvres contribute to the second difference. 0: 0.937, 0.2: 0.936, 0.4: 0.946.
  private static let jerk = 0.1
  /// m/s: no receiver's velocity is better. 0.02: 0.938, 0.1: 0.938.
  private static let leastDeviation = 0.05
  /// Share by which each fix moves the median: it follows within a minute, and jumps hardly count. 0.02: 0.933, 0.1: 0.938.
  private static let learning = 0.05
  /// m/s: slower, a receiver holds its velocity still, and nothing is learned of its noise.
  private static let slowestLearning = 1.0
  /// m/s: slower than a walk, noise is all there is to see of acceleration and turn.
  private static let slowestTrend = 2.0
  /// The median of the square of a vector whose two components are normal with variance 1.
  private static let medianOfSquare = 1.386

  private var acceleration = SIMD2(0.0, 0)
  private var covariance = (velocity: 0.0, mixed: 0.0, acceleration: 0.0)
  private var last: MotionSample?
  private var lastChange: SIMD2<Double>?
  /// Median of the square of the second difference, scaled to that of a velocity, (m/s)².
  private var median = 0.1

  /// Variance of the noise of a measured velocity on each axis, (m/s)².
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
