internal import Spatial

/// The state of `AttitudeFilter`'s Kalman filter with its covariance: level frame, gyroscope errors, motion
/// and magnetic field.
struct AttitudeEstimate: Sendable {
  /// Rotation from the almost inertial to the level frame.
  private(set) var level = Quaternion.identity
  private(set) var gyroscope = GyroscopeErrors()
  private(set) var field: MagneticField
  private(set) var motion = MotionModel()
  private var covariance = Covariance()
  /// Standard deviation in m/s² of the external acceleration in the last block; zero without an external
  /// acceleration.
  private var aidDeviation = 0.0

  init(_ p: AttitudeFilter.Parameters) {
    field = MagneticField(p)
    start(p)
  }

  // MARK: Start

  /// Resets the covariance to its value before the first sample and leaves the estimated values unchanged.
  mutating func start(_ p: AttitudeFilter.Parameters) {
    covariance.reset(0..<2, variance: squared(20 * Double.pi / 180))
    gyroscope.start(&covariance, p)
    field.start(&covariance, p)
    motion.forget(&covariance, p)
  }

  /// Resets values and covariance.
  mutating func restart(_ p: AttitudeFilter.Parameters) {
    (level, motion, covariance) = (.identity, MotionModel(), Covariance())
    gyroscope.restart()
    field.restart(p)
    start(p)
  }

  mutating func use(_ calibration: MotionCalibration, _ p: AttitudeFilter.Parameters) {
    gyroscope.use(calibration, &covariance, p)
    field.use(calibration, &covariance, p)
  }

  mutating func follow(biasChange: Vector3) { gyroscope.follow(biasChange: biasChange, &covariance) }

  mutating func forgetContradictedBias() { gyroscope.forgetContradiction() }

  // MARK: Alignment

  /// Turns the level frame by the smallest rotation that makes `force` (almost inertial frame) vertical.
  /// Returns false if the force has no direction.
  @discardableResult
  mutating func erect(along force: Vector3) -> Bool {
    guard let up = Quaternion.shortestTurn(from: level.rotate(force), to: Vector3(0, 0, 1)) else {
      return false
    }
    level = (up * level).normalized
    field.turn(by: up)
    return true
  }

  /// Starts with a vertical of standard deviation `tilt` rad, and with accelerations of the given variance.
  mutating func begin(tilt: Double, accelerationVariance: Double, _ p: AttitudeFilter.Parameters) {
    motion.begin(accelerationVariance: accelerationVariance, p)
    covariance.reset(0..<2, variance: 2 * tilt * tilt)
    field.forget(&covariance, p)
    motion.forget(&covariance, p)
  }

  /// Starts with an attitude whose angle about `axis` (level frame) has the given deviation in rad.
  mutating func begin(about axis: Vector3, deviation: Double, _ p: AttitudeFilter.Parameters) {
    covariance.reset(0..<2, variance: 0)
    covariance.addRotation(Matrix3.outer(axis, scale: deviation * deviation), field: field.mean)
    covariance.addRotation(Matrix3.diagonal(squared(3 * Double.pi / 180)), field: field.mean)
    motion.forget(&covariance, p)
  }

  /// Sets the first field, almost inertial frame.
  mutating func beginField(_ first: Vector3) { field.begin(first, level: level) }

  /// Treats a horizontal force as tilt if it lasts too long for an acceleration.
  /// - Parameters:
  ///   - force: the part of the force in m/s² that is gravity seen from a tilted frame.
  ///   - accelerationVariance: variance of the force about its mean in (m/s²)², used as the acceleration
  ///     variance.
  mutating func reopenTilt(by force: Double, accelerationVariance: Double, _ p: AttitudeFilter.Parameters) {
    covariance.addVariance(squared(force / AttitudeFilter.gravity), to: 0..<2)
    motion.begin(accelerationVariance: min(accelerationVariance, motion.accelerationVariance), p)
    motion.forget(&covariance, p)
  }

  /// Corrects the inclination by a measured tilt.
  ///
  /// - Returns: the resulting change of the horizontal force in m/s².
  mutating func measureTilt(_ finding: TiltWatch.Finding, _ p: AttitudeFilter.Parameters) -> SIMD2<Double> {
    let g = AttitudeFilter.gravity
    let square = finding.isFirst ? (finding.force * finding.force).sum() : 0
    covariance.addVariance((square + 2 * squared(finding.deviation)) / (g * g), to: 0..<2)
    if finding.isFirst {
      motion.begin(accelerationVariance: min(finding.variance, motion.accelerationVariance), p)
      motion.forget(&covariance, p)
    }
    var x = StateVector()
    var m = InlineArray<2, Measurement>(repeating: Measurement())
    for i in 0..<2 {
      m[i].h[ErrorState.tilt + 1 - i] = i == 0 ? g : -g
      m[i].z = finding.force[i]
      m[i].variance = squared(finding.deviation)
    }
    covariance.update(
      &x, m,
      [covariance.row(ErrorState.tilt + 1).scaled(by: g), covariance.row(ErrorState.tilt).scaled(by: -g)])
    _ = correct(x, p)
    return SIMD2(-g * x[ErrorState.tilt + 1], g * x[ErrorState.tilt])
  }

  /// Resets the motion model after an external acceleration started or ended.
  mutating func forgetMotion(_ p: AttitudeFilter.Parameters) { motion.forget(&covariance, p) }

  /// Observes that all but the attitude's relation to the field was lost.
  mutating func loseAttitude() { field.loseAttitude() }

  mutating func replaceField(by mean: Vector3) { field.replace(by: level.rotate(mean)) }

  // MARK: Prediction

  /// - Parameter frame: `level` as a matrix.
  @inline(__always)
  mutating func predict(
    _ block: FilterBlock, _ frame: Matrix3, _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    let attitude = frame * block.attitude
    let rotation = frame * block.rotation
    let mean = field.mean
    // The rotation error of the block is attitude * d(bias) + rotation * d(scale). Its horizontal part
    // changes the tilt, and its vertical part turns the field.
    covariance.propagate(ErrorState.tilt, fromBias: attitude.row(0), scale: rotation.row(0))
    covariance.propagate(ErrorState.tilt + 1, fromBias: attitude.row(1), scale: rotation.row(1))
    let (a, r) = (attitude.row(2), rotation.row(2))
    covariance.propagate(ErrorState.field, fromBias: -mean.y * a, scale: -mean.y * r)
    covariance.propagate(ErrorState.field + 1, fromBias: mean.x * a, scale: mean.x * r)

    // Attitude noise as a covariance in the level frame.
    let white =
      squared(p.gyroscopeNoise) * interval
      + squared(p.gyroscopeProportionalNoise) * block.rateSquare + block.gapVariance
    var noise = Matrix3.diagonal(white)
    if block.isSaturated { noise += frame * block.saturation * frame.transposed }
    covariance.addRotation(noise, field: mean)

    covariance.addVariance(squared(p.biasWalk) * interval, to: ErrorState.bias..<ErrorState.bias + 3)
    covariance.addVariance(
      squared(p.hardIronWalk) * interval, to: ErrorState.hardIron..<ErrorState.hardIron + 3)
    covariance.addVariance(squared(p.fieldWalk) * interval, to: ErrorState.field..<ErrorState.field + 3)
    // Scale and delay are constants. The small noise only keeps their variances above zero.
    covariance.addVariance(squared(1e-5) * interval, to: ErrorState.scale..<ErrorState.scale + 3)
    covariance.addVariance(squared(2e-6) * interval, to: ErrorState.lag..<ErrorState.lag + 1)
    if block.gap > 0 { motion.addGap(block.gap, to: &covariance) }
  }

  @inline(__always)
  mutating func relaxField(isStill: Bool, _ interval: Double, _ p: AttitudeFilter.Parameters) {
    field.relax(&covariance, isStill: isStill, interval, p)
  }

  // MARK: Measurements

  /// - Returns: true if a stored bias turned out to be wrong.
  mutating func measureRest(
    _ x: inout StateVector, _ block: FilterBlock, _ frame: Matrix3, meanVariance: Double, _ interval: Double
  ) -> Bool {
    gyroscope.measureRest(
      &x, &covariance, block, up: (frame * block.attitude).row(2) / interval, hasMagnetometer: field.isKnown,
      meanVariance: meanVariance, interval)
  }

  mutating func observeMotion() { gyroscope.observeMotion() }

  @inline(__always)
  mutating func measureForce(
    _ x: inout StateVector, _ block: FilterBlock, _ frame: Matrix3, _ interval: Double,
    _ p: AttitudeFilter.Parameters
  ) {
    let force = frame * (block.forceSum / Double(block.forceCount))
    aidDeviation = block.aidDeviation ?? 0
    motion.measure(&x, &covariance, force: force, of: block, interval, p)
  }

  @inline(__always)
  mutating func measureField(
    _ x: inout StateVector, _ block: FilterBlock, _ frame: Matrix3, isStill: Bool, isSettled: Bool,
    _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    field.measure(
      &x, &covariance, block, frame, isStill: isStill, isSettled: isSettled, interval, p)
  }

  // MARK: Correction

  /// Corrects the estimates by the estimated error.
  ///
  /// - Returns: false if a number is no longer finite.
  @inline(__always)
  mutating func correct(_ x: StateVector, _ p: AttitudeFilter.Parameters) -> Bool {
    let tilt = Vector3(x[ErrorState.tilt], x[ErrorState.tilt + 1], 0)
    level = (Quaternion(smallRotation: -tilt) * level).normalized
    gyroscope.correct(x, &covariance, p)
    field.correct(x)
    motion.correct(x)
    return level.isFinite && gyroscope.isFinite && field.isFinite && motion.isFinite
  }

  /// Repairs rounding errors of the covariance, or resets it if that is not possible.
  mutating func repair(_ p: AttitudeFilter.Parameters) {
    if !covariance.repair() { start(p) }
  }

  @inline(__always)
  mutating func endBlock() { field.endBlock(level: level) }

  // MARK: Calibration

  /// Returns `kept` updated with observations, without values that the samples contradicted.
  func calibration(
    updating kept: MotionCalibration, temperature: Double?, isSettled: Bool, _ p: AttitudeFilter.Parameters
  ) -> MotionCalibration {
    var kept = kept
    gyroscope.update(&kept, temperature: temperature, covariance, p)
    field.update(&kept, isSettled: isSettled, covariance)
    return kept
  }

  func state(_ p: AttitudeFilter.Parameters) -> AttitudeFilter.State {
    let mean = field.mean
    let stray = max(
      motion.strayDeviation,
      max(p.accelerometerDeviation, aidDeviation) * 2.squareRoot() / AttitudeFilter.gravity)
    let horizontal = (mean.x * mean.x + mean.y * mean.y).squareRoot()
    let strayBias = motion.strayBiasDeviation
    let bias = covariance.deviations(ErrorState.bias)
    let biasDeviation = (bias * bias + (squared(p.biasInstability) + strayBias * strayBias)).squareRoot()
    return AttitudeFilter.State(
      gyroscopeBias: gyroscope.bias, gyroscopeBiasDeviation: biasDeviation,
      gyroscopeScaleError: gyroscope.scale, hardIron: field.hardIron,
      hardIronDeviation: covariance.deviations(ErrorState.hardIron),
      softIronDiagonal: field.soft.diagonal, softIronOffDiagonal: field.soft.offDiagonal,
      magnetometerLag: field.lag, magnetometerLagDeviation: covariance.deviation(ErrorState.lag),
      field: field.isKnown ? Vector3(0, horizontal, mean.z) : nil,
      inclinationDeviation: (max(0, covariance[0, 0] + covariance[1, 1]) + stray * stray).squareRoot(),
      headingDeviation: field.isKnown ? field.headingDeviation(covariance, p) : nil,
      headingBound: field.isKnown ? field.headingBound : nil)
  }
}
