internal import Glibc
internal import Spatial

/// Model of the device's horizontal motion with a bounded position: p'' = -w² p - 2 w p' + noise. The
/// strength of the noise is estimated adaptively. Horizontal force that the model cannot explain is gravity
/// seen from a tilted frame.
struct MotionModel: Sendable {
  /// Variance of the horizontal acceleration without gravity in (m/s²)².
  private(set) var accelerationVariance = 0.25
  /// Velocity (m/s) and position (m), level frame.
  private var velocity = SIMD2<Double>.zero
  private var position = SIMD2<Double>.zero
  /// Low-passed horizontal force in m/s², and the low-passed square of its length in (m/s²)².
  private var slowForce = SIMD2<Double>.zero
  private var slowForceSquare = 0.0
  /// Time in s since the device was last faster than a hand can move it. For a minute after that, the device
  /// may be in a vehicle.
  private var sinceTravel = Double.infinity
  /// Low-passed deviation of the vertical specific force from gravity in m/s².
  private var verticalExcess = 0.0

  /// Speed in m/s that hands and arms do not sustain for half a second, and the time in s after which a ride
  /// counts as over.
  private static let handSpeed = 2.5
  private static let travelTime = 60.0
  /// Correlation time in s of vehicle accelerations.
  private static let slowTime = 5.0
  /// Time in s over which a bias is estimated from inclination.
  private static let biasTime = 20.0

  private static let velocityStates = ErrorState.velocity..<ErrorState.velocity + 2
  private static let positionStates = ErrorState.position..<ErrorState.position + 2

  /// Resets velocity and position to the stationary variances of the second-order model at the current
  /// strength of accelerations.
  mutating func forget(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    let w = 1 / p.motionTime
    let density = accelerationVariance * p.accelerationCorrelation * 0.05
    velocity = .zero
    position = .zero
    covariance.reset(Self.velocityStates, variance: density / (4 * w))
    covariance.reset(Self.positionStates, variance: density / (4 * w * w * w))
  }

  /// Starts with an aligned vertical and accelerations of the given variance.
  mutating func begin(accelerationVariance variance: Double, _ p: AttitudeFilter.Parameters) {
    accelerationVariance = max(squared(p.accelerationFloor), variance)
    verticalExcess = 0
  }

  /// Adds the uncertainty of an unknown acceleration during `gap` s.
  func addGap(_ gap: Double, to covariance: inout Covariance) {
    let variance = accelerationVariance * squared(gap) * min(1, squared(gap / 0.05))
    covariance.addVariance(variance, to: Self.velocityStates)
    covariance.addVariance(0.25 * variance * squared(gap), to: Self.positionStates)
  }

  /// Compares the horizontal specific force with the model's prediction from velocity and position. The
  /// difference is the measurement. The force then drives velocity and position.
  ///
  /// - Parameter force: mean of the block in m/s², level frame.
  @inline(__always)
  mutating func measure(
    _ x: inout StateVector, _ covariance: inout Covariance, force: Vector3, of block: FilterBlock,
    _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    let w = 1 / p.motionTime
    observeTravel(force, interval)
    let (pull, spring) = (-2 * w, -w * w)
    let zx = force.x - pull * velocity.x - spring * position.x
    let zy = force.y - pull * velocity.y - spring * position.y
    let expected =
      0.5 * squared(AttitudeFilter.gravity) * (covariance[0, 0] + covariance[1, 1])
    let square = 0.5 * (zx * zx + zy * zy)
    let gain = 1 - exp(-interval / p.accelerationMemory)
    accelerationVariance += gain * (max(0, square - expected) - accelerationVariance)
    var variance = max(accelerationVariance, squared(p.accelerationFloor), 0.25 * square)
    if let deviation = block.aidDeviation { variance = max(variance, squared(deviation)) }
    variance *= p.accelerationCorrelation * 0.05 / interval
    // If the vertical mean differs from gravity, the horizontal mean is unreliable, too.
    verticalExcess += (1 - exp(-interval / 3)) * (force.z - AttitudeFilter.gravity - verticalExcess)
    variance += squared(max(0, abs(verticalExcess) - 0.2)) * 6 / interval
    covariance.addVariance(
      accelerationVariance * squared(block.lostForce) + 2 * block.velocityVariance,
      to: Self.velocityStates)
    covariance.addVariance(0.02 * block.velocityVariance, to: Self.positionStates)

    var m = InlineArray<2, Measurement>(repeating: Measurement())
    for i in 0..<2 {
      m[i].h[ErrorState.tilt + 1 - i] = i == 0 ? AttitudeFilter.gravity : -AttitudeFilter.gravity
      m[i].h[ErrorState.velocity + i] = pull
      m[i].h[ErrorState.position + i] = spring
      m[i].z = i == 0 ? zx : zy
      m[i].variance = variance
    }
    let projections: InlineArray<2, StateVector> = [
      covariance.project(m[0].h, [1, 8, 10, 0, 0, 0, 0, 0], count: 3),
      covariance.project(m[1].h, [0, 9, 11, 0, 0, 0, 0, 0], count: 3),
    ]
    covariance.update(&x, m, projections)
    move(&x, &covariance, force, interval)
  }

  private mutating func observeTravel(_ force: Vector3, _ interval: Double) {
    slowForce += (1 - exp(-interval / Self.slowTime)) * (SIMD2(force.x, force.y) - slowForce)
    let square = (slowForce * slowForce).sum()
    slowForceSquare += (1 - exp(-interval / Self.travelTime)) * (square - slowForceSquare)
    sinceTravel += interval
    if (velocity * velocity).sum() > Self.handSpeed * Self.handSpeed { sinceTravel = 0 }
  }

  /// Standard deviation in rad of the inclination error from unbounded motion: lasting accelerations of a
  /// vehicle are mistaken for gravity.
  var strayDeviation: Double {
    sinceTravel < Self.travelTime ? slowForceSquare.squareRoot() / AttitudeFilter.gravity : 0
  }

  /// Standard deviation in rad/s of the gyroscope bias that results from `strayDeviation`.
  var strayBiasDeviation: Double { strayDeviation / Self.biasTime }

  /// Integrates the horizontal force.
  @inline(__always)
  private mutating func move(
    _ x: inout StateVector, _ covariance: inout Covariance, _ force: Vector3, _ interval: Double
  ) {
    let horizontal = SIMD2(force.x, force.y)
    let half = 0.5 * interval * interval
    position += interval * velocity + half * horizontal
    velocity += interval * horizontal
    for i in 0..<2 {
      let sign = i == 0 ? -AttitudeFilter.gravity : AttitudeFilter.gravity
      let (v, q, tilt) = (ErrorState.velocity + i, ErrorState.position + i, ErrorState.tilt + 1 - i)
      covariance.propagate(q, from: v, interval)
      covariance.propagate(q, from: tilt, sign * half)
      covariance.propagate(v, from: tilt, sign * interval)
      x[q] += interval * x[v] + sign * half * x[tilt]
      x[v] += sign * interval * x[tilt]
    }
    covariance.addVariance(squared(0.02 * interval), to: Self.velocityStates)
  }

  /// Corrects the estimates by the estimated error.
  @inline(__always)
  mutating func correct(_ x: StateVector) {
    velocity += SIMD2(x[ErrorState.velocity], x[ErrorState.velocity + 1])
    position += SIMD2(x[ErrorState.position], x[ErrorState.position + 1])
  }

  var isFinite: Bool {
    velocity.x.isFinite && velocity.y.isFinite && position.x.isFinite && position.y.isFinite
      && accelerationVariance.isFinite
  }
}
