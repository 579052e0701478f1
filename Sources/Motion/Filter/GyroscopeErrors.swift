internal import Spatial

/// Bias and scale of the gyroscope, with the checks of an assumed bias.
struct GyroscopeErrors: Sendable {
  /// Bias in rad/s, device frame; to be subtracted from gyroscope readings.
  private(set) var bias = Vector3.zero
  /// Relative scale error per axis.
  private(set) var scale = Vector3.zero
  /// True if observations at rest contradicted a stored bias.
  private(set) var isContradicted = false
  /// True while a stored bias is in use.
  private var isExpected = false
  /// Last bias measured at rest in rad/s.
  private var seenAtRest: Vector3?
  private var isSeenNow = false
  /// Total time in s of bias measurements at rest.
  private var restDuration = 0.0
  /// Apparent rest at a rate that differs from the bias.
  private var steadyRate = SteadyRate()

  /// Difference in rad/s (0.3 °/s) from a measured bias above which apparent rest is a slow turn. Between two
  /// rests, a bias changes by less.
  private static let slowestTurn = 0.3 * Double.pi / 180

  /// Largest change of a bias between two rests in rad/s (0.5 °/s), typical of a chip whose temperature
  /// changes by 30 °C.
  private static let greatestDrift = 0.5 * Double.pi / 180

  /// Time in s of apparent rest after which its rate is the bias, if the magnetometer cannot show the cause.
  /// The shorter time applies if the bias in use is larger than that of usual chips, and the new one is not.
  private static let patience = (usual: 60.0, afterLargeBias: 3.0)
  /// Time in s of apparent turns without motion after which the steady rate is the bias and the field varies for other
  /// reasons.
  private static let longestTurn = 180.0
  /// Largest usual bias in rad/s (5 °/s).
  private static let greatestUsualBias = 5 * Double.pi / 180

  private static let biasStates = ErrorState.bias..<ErrorState.bias + 3
  private static let scaleStates = ErrorState.scale..<ErrorState.scale + 3

  /// Corrects a sample in rad/s for bias and scale error.
  @inline(__always)
  func corrected(_ rate: Vector3) -> Vector3 { (rate - bias) * (1 - scale) }

  /// True if the bias was measured at rest since the start.
  var hasSeenBias: Bool { restDuration >= 1 }

  // MARK: Start

  /// Resets the covariance of bias and scale to its value before the first sample.
  mutating func start(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    covariance.reset(Self.biasStates, variance: p.biasPrior * p.biasPrior)
    startScale(&covariance, p)
  }

  /// Sets the covariance of the scale errors, part of which is common to all axes.
  private mutating func startScale(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    let (common, axis) = (p.commonScalePrior * p.commonScalePrior, p.axisScalePrior * p.axisScalePrior)
    scale = .zero
    covariance.reset(Self.scaleStates, variance: common + axis)
    for i in 0..<3 {
      for j in 0..<3 where i != j { covariance[ErrorState.scale + i, ErrorState.scale + j] = common }
    }
  }

  /// Resets the estimated bias and scale error to zero.
  mutating func restart() { (bias, scale, seenAtRest) = (.zero, .zero, nil) }

  /// Starts from a stored calibration. Its deviation is raised to at least 0.05 °/s, because the bias may
  /// have changed since it was stored.
  mutating func use(
    _ calibration: MotionCalibration, _ covariance: inout Covariance, _ p: AttitudeFilter.Parameters
  ) {
    if let kept = calibration.gyroBias(at: nil), kept.bias.isFinite, kept.bias.length < 0.5 {
      bias = kept.bias
      isExpected = true
      let least = 0.05 * Double.pi / 180
      for i in 0..<3 {
        let deviation = max(least, min(kept.deviation[i], p.biasPrior))
        covariance.reset(ErrorState.bias + i..<ErrorState.bias + i + 1, variance: deviation * deviation)
      }
    }
    if let kept = calibration.gyroscopeScaleError, kept.isFinite, kept.length < 0.2 { scale = kept }
  }

  // MARK: Measurement and correction

  /// Updates the bias at rest, where the gyroscope measures it. The variance allows for slow turns.
  ///
  /// - Parameters:
  ///   - up: vertical in the device frame.
  ///   - hasMagnetometer: true if a magnetometer can show whether a steady rate is a turn.
  ///   - meanVariance: variance in (rad/s)² between the mean rates of the blocks.
  /// - Returns: true if a stored bias turned out to be wrong.
  mutating func measureRest(
    _ x: inout StateVector, _ covariance: inout Covariance, _ block: FilterBlock, up: Vector3,
    hasMagnetometer: Bool, meanVariance: Double, _ interval: Double
  ) -> Bool {
    let mean = block.rate.mean
    let (isCredible, isDiscarded) = judge(
      mean, &covariance, block, up: up, hasMagnetometer: hasMagnetometer)
    guard isCredible else { return isDiscarded }
    restDuration += interval
    isSeenNow = true
    var m = InlineArray<3, Measurement>(repeating: Measurement())
    let deviation = 0.1 * Double.pi / 180
    for i in 0..<3 {
      m[i].h[ErrorState.bias + i] = 1
      m[i].z = mean[i] - bias[i]
      m[i].variance = deviation * deviation * 0.2 / interval + meanVariance
    }
    covariance.update(
      &x, m,
      [
        covariance.row(ErrorState.bias), covariance.row(ErrorState.bias + 1),
        covariance.row(ErrorState.bias + 2),
      ])
    return isDiscarded
  }

  /// Observes that the device is not at rest.
  mutating func observeMotion() { steadyRate.observeMotion() }

  /// Evaluates a steady rate far from the bias, which is a steady turn or shows that the bias is wrong.
  /// Without a magnetometer, it is accepted as the bias before the first bias measurement at rest, and after a
  /// minute.
  private mutating func judge(
    _ mean: Vector3, _ covariance: inout Covariance, _ block: FilterBlock, up: Vector3,
    hasMagnetometer: Bool
  ) -> (isCredible: Bool, isDiscarded: Bool) {
    let difference = mean - bias
    let variance = covariance[2, 2] + covariance[3, 3] + covariance[4, 4]
    let least = hasSeenBias ? Self.slowestTurn : 1 * Double.pi / 180
    let limit = max(least, 6 * variance.squareRoot())
    guard difference.length > limit else {
      steadyRate = SteadyRate()
      return (true, false)
    }
    switch steadyRate.observe(difference, block, up: up) {
    case .turn where steadyRate.total < Self.longestTurn: return (false, false)
    case .turn, .bias: break
    case .unknown:
      let isUsual = bias.length < Self.greatestUsualBias || mean.length > 0.5 * bias.length
      let patience = isUsual ? Self.patience.usual : Self.patience.afterLargeBias
      guard (restDuration < 1 && !hasMagnetometer) || steadyRate.duration > patience else {
        return (false, false)
      }
    }
    steadyRate = SteadyRate()
    covariance.inflate(ErrorState.bias, by: difference.dot(difference), among: 0..<ErrorState.hardIron)
    guard isExpected else { return (true, false) }
    (isExpected, isContradicted) = (false, true)
    return (true, true)
  }

  /// Corrects the estimates by the estimated error, and resets values that no gyroscope can have.
  @inline(__always)
  mutating func correct(
    _ x: StateVector, _ covariance: inout Covariance, _ p: AttitudeFilter.Parameters
  ) {
    bias += x.vector(at: ErrorState.bias)
    scale += x.vector(at: ErrorState.scale)
    let one = Vector3(repeating: 1)
    if max(scale.max(), -scale.min()) > 6 * p.commonScalePrior { startScale(&covariance, p) }
    bias = bias.clamped(lowerBound: -0.5 * one, upperBound: 0.5 * one)
    if isSeenNow {
      if hasSeenBias { seenAtRest = bias }
      isSeenNow = false
    } else if let seenAtRest {
      // Without this limit, forces outside the motion model, as in a vehicle, would move the bias
      // indefinitely.
      let most = Self.greatestDrift * one
      bias = bias.clamped(lowerBound: seenAtRest - most, upperBound: seenAtRest + most)
    }
  }

  /// Adjusts the bias after a temperature change by the difference between stored biases. A third of this
  /// difference is added as uncertainty.
  mutating func follow(biasChange: Vector3, _ covariance: inout Covariance) {
    guard biasChange.isFinite, biasChange.length < 0.5 else { return }
    bias += biasChange
    seenAtRest? += biasChange
    let deviation = 0.3 * biasChange.length
    covariance.addVariance(deviation * deviation, to: Self.biasStates)
  }

  /// Clears the contradiction after the stored bias was removed.
  mutating func forgetContradiction() { isContradicted = false }

  var isFinite: Bool { bias.isFinite && scale.isFinite }

  /// Adds observed values to `kept` and removes contradicted ones.
  func update(
    _ kept: inout MotionCalibration, temperature: Double?, _ covariance: Covariance,
    _ p: AttitudeFilter.Parameters
  ) {
    if isContradicted { kept.forgetGyroBiases() }
    let deviation = covariance.deviations(ErrorState.bias)
    if restDuration >= 1, deviation.max() < 0.1 * Double.pi / 180 {
      kept.keep(.init(temperature: temperature, bias: bias, deviation: deviation))
    }
    if covariance.deviation(ErrorState.scale) < 0.5 * p.commonScalePrior { kept.gyroscopeScaleError = scale }
  }
}
