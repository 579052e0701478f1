internal import Spatial

/// What the Kalman filter of `AttitudeFilter` estimates, with its covariance: the level frame, the errors of the gyroscope,
/// the motion and the magnetic field.
struct AttitudeEstimate: Sendable {
  /// Almost inertial to level frame.
  private(set) var level = Quaternion.identity
  private(set) var gyroscope = GyroscopeErrors()
  private(set) var field: MagneticField
  private(set) var motion = MotionModel()
  private var covariance = Covariance()
  /// Deviation of the acceleration that was known in the last block, m/s²; zero where none was.
  private var aidDeviation = 0.0

  init(_ p: AttitudeFilter.Parameters) {
    field = MagneticField(p)
    start(p)
  }

  // MARK: Start

  /// Uncertain as before the first sample, whatever the values are.
  mutating func start(_ p: AttitudeFilter.Parameters) {
    covariance.reset(0..<2, variance: squared(20 * Double.pi / 180))
    gyroscope.start(&covariance, p)
    field.start(&covariance, p)
    motion.forget(&covariance, p)
  }

  /// Starts from nothing.
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

  /// Turns the level frame the shortest way to where `force`, of the almost inertial frame, is vertical; false where that
  /// has no direction.
  @discardableResult
  mutating func erect(along force: Vector3) -> Bool {
    guard let up = Quaternion.shortestTurn(from: level.rotate(force), to: Vector3(0, 0, 1)) else {
      return false
    }
    level = (up * level).normalized
    field.turn(by: up)
    return true
  }

  /// The vertical has been found within `tilt` rad, with accelerations of that variance about it.
  mutating func begin(tilt: Double, accelerationVariance: Double, _ p: AttitudeFilter.Parameters) {
    motion.begin(accelerationVariance: accelerationVariance, p)
    covariance.reset(0..<2, variance: 2 * tilt * tilt)
    field.forget(&covariance, p)
    motion.forget(&covariance, p)
  }

  /// The attitude has been found but for an angle about `axis`, level frame, of that deviation.
  mutating func begin(about axis: Vector3, deviation: Double, _ p: AttitudeFilter.Parameters) {
    covariance.reset(0..<2, variance: 0)
    covariance.addRotation(Matrix3.outer(axis, scale: deviation * deviation), field: field.mean)
    covariance.addRotation(Matrix3.diagonal(squared(3 * Double.pi / 180)), field: field.mean)
    motion.forget(&covariance, p)
  }

  /// The first field, almost inertial frame.
  mutating func beginField(_ first: Vector3) { field.begin(first, level: level) }

  /// The horizontal force has lasted too long to be an acceleration: so much of it, m/s², is gravity seen from a tilted frame, and
  /// what varies about it, (m/s²)², is all that accelerations are.
  mutating func reopenTilt(by force: Double, accelerationVariance: Double, _ p: AttitudeFilter.Parameters) {
    covariance.addVariance(squared(force / AttitudeFilter.gravity), to: 0..<2)
    motion.begin(accelerationVariance: min(accelerationVariance, motion.accelerationVariance), p)
    motion.forget(&covariance, p)
  }

  /// What is aided or no longer aided moves differently.
  mutating func forgetMotion(_ p: AttitudeFilter.Parameters) { motion.forget(&covariance, p) }

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
    // d(tilt) = attitude * d(bias) + rotation * d(scale), and its vertical part turns the field.
    covariance.propagate(ErrorState.tilt, fromBias: attitude.row(0), scale: rotation.row(0))
    covariance.propagate(ErrorState.tilt + 1, fromBias: attitude.row(1), scale: rotation.row(1))
    let (a, r) = (attitude.row(2), rotation.row(2))
    covariance.propagate(ErrorState.field, fromBias: -mean.y * a, scale: -mean.y * r)
    covariance.propagate(ErrorState.field + 1, fromBias: mean.x * a, scale: mean.x * r)

    // Noise of the attitude, as a covariance in the level frame.
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
    // Scale and delay are constants; so little only keeps them from being taken for exact.
    covariance.addVariance(squared(1e-5) * interval, to: ErrorState.scale..<ErrorState.scale + 3)
    covariance.addVariance(squared(2e-6) * interval, to: ErrorState.lag..<ErrorState.lag + 1)
    if block.gap > 0 { motion.addGap(block.gap, to: &covariance) }
  }

  @inline(__always)
  mutating func relaxField(isStill: Bool, _ interval: Double, _ p: AttitudeFilter.Parameters) {
    field.relax(&covariance, isStill: isStill, interval, p)
  }

  // MARK: Measurements

  /// - Returns: whether a kept bias turned out to be wrong.
  mutating func measureRest(
    _ x: inout StateVector, _ block: FilterBlock, meanVariance: Double, _ interval: Double
  ) -> Bool {
    gyroscope.measureRest(
      &x, &covariance, mean: block.rate.mean, meanVariance: meanVariance, interval)
  }

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

  /// Moves the estimates by the error that was found.
  ///
  /// - Returns: false where a number is no longer finite.
  @inline(__always)
  mutating func correct(_ x: StateVector, _ p: AttitudeFilter.Parameters) -> Bool {
    let tilt = Vector3(x[ErrorState.tilt], x[ErrorState.tilt + 1], 0)
    level = (Quaternion(smallRotation: -tilt) * level).normalized
    gyroscope.correct(x, &covariance, p)
    field.correct(x)
    motion.correct(x)
    return level.isFinite && gyroscope.isFinite && field.isFinite && motion.isFinite
  }

  /// Undoes what rounding does to the covariance; starts it anew where that is not possible.
  mutating func repair(_ p: AttitudeFilter.Parameters) {
    if !covariance.repair() { start(p) }
  }

  @inline(__always)
  mutating func endBlock() { field.endBlock(level: level) }

  // MARK: What is known

  /// `kept` with what has been learned since; what the samples contradicted is not in it.
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
