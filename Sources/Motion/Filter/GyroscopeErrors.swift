internal import Spatial

/// Bias and scale of the gyroscope, and whether what was assumed of the bias has been seen to be true.
struct GyroscopeErrors: Sendable {
  /// rad/s, device frame; to be subtracted.
  private(set) var bias = Vector3.zero
  /// Relative, per axis.
  private(set) var scale = Vector3.zero
  /// A kept bias was contradicted by what was seen at rest.
  private(set) var isContradicted = false
  /// A kept bias is in use.
  private var isExpected = false
  /// The bias as it was last seen at rest, rad/s.
  private var seenAtRest: Vector3?
  private var isSeenNow = false
  /// s for which the bias has been seen at rest.
  private var restDuration = 0.0
  /// s of apparent rest with a rate that is not the bias.
  private var steadyTurn = 0.0

  /// rad/s (0.3 °): apparent rest this far from a bias that was seen is a slow turn; chips move by less between two rests.
  private static let slowestTurn = 0.3 * Double.pi / 180

  /// rad/s (0.5 °), by which a bias may move between two rests: that of a usual chip does with 30 °C.
  private static let greatestDrift = 0.5 * Double.pi / 180

  private static let biasStates = ErrorState.bias..<ErrorState.bias + 3
  private static let scaleStates = ErrorState.scale..<ErrorState.scale + 3

  /// A sample without bias and scale error, rad/s.
  @inline(__always)
  func corrected(_ rate: Vector3) -> Vector3 { (rate - bias) * (1 - scale) }

  /// Whether the bias has been seen at rest since the start.
  var hasSeenBias: Bool { restDuration >= 1 }

  // MARK: Start

  /// Uncertain as before the first sample.
  mutating func start(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    covariance.reset(Self.biasStates, variance: p.biasPrior * p.biasPrior)
    startScale(&covariance, p)
  }

  /// Part of the scale error of each axis is common to all.
  private mutating func startScale(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    let (common, axis) = (p.commonScalePrior * p.commonScalePrior, p.axisScalePrior * p.axisScalePrior)
    scale = .zero
    covariance.reset(Self.scaleStates, variance: common + axis)
    for i in 0..<3 {
      for j in 0..<3 where i != j { covariance[ErrorState.scale + i, ErrorState.scale + j] = common }
    }
  }

  /// Forgets the values.
  mutating func restart() { (bias, scale, seenAtRest) = (.zero, .zero, nil) }

  /// Starts from a kept calibration, which counts as known to its deviation and no less than a restart may change it.
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

  /// At rest the gyroscope shows its bias. The variance allows for slow turns.
  ///
  /// - Parameter meanVariance: by which the means of blocks scatter, (rad/s)².
  /// - Returns: whether a kept bias turned out to be wrong.
  mutating func measureRest(
    _ x: inout StateVector, _ covariance: inout Covariance, mean: Vector3, meanVariance: Double,
    _ interval: Double
  ) -> Bool {
    let (isCredible, isDiscarded) = judge(mean - bias, &covariance, interval)
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

  /// A steady rate that is far from the bias: before the bias was seen at rest, it is the bias, whatever was assumed or
  /// kept. Later it is a steady turn, unless it lasts for a minute.
  private mutating func judge(_ difference: Vector3, _ covariance: inout Covariance, _ interval: Double)
    -> (isCredible: Bool, isDiscarded: Bool)
  {
    let variance = covariance[2, 2] + covariance[3, 3] + covariance[4, 4]
    let least = hasSeenBias ? Self.slowestTurn : 1 * Double.pi / 180
    let limit = max(least, 6 * variance.squareRoot())
    guard difference.length > limit else {
      steadyTurn = 0
      return (true, false)
    }
    steadyTurn += interval
    guard restDuration < 1 || steadyTurn > 60 else { return (false, false) }
    steadyTurn = 0
    covariance.inflate(ErrorState.bias, by: difference.dot(difference), among: 0..<ErrorState.hardIron)
    guard isExpected else { return (true, false) }
    (isExpected, isContradicted) = (false, true)
    return (true, true)
  }

  /// Moves the estimates by the error that was found. Those that no gyroscope could cause start anew.
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
      // Else forces that the motion model does not know, as those of a vehicle, would move it without end.
      let most = Self.greatestDrift * one
      bias = bias.clamped(lowerBound: seenAtRest - most, upperBound: seenAtRest + most)
    }
  }

  /// The temperature has changed: moves the bias by as much as kept biases say that it moves. A third of a predicted
  /// change may be wrong.
  mutating func follow(biasChange: Vector3, _ covariance: inout Covariance) {
    guard biasChange.isFinite, biasChange.length < 0.5 else { return }
    bias += biasChange
    seenAtRest? += biasChange
    let deviation = 0.3 * biasChange.length
    covariance.addVariance(deviation * deviation, to: Self.biasStates)
  }

  /// What contradicted a kept bias has been taken out of what is kept.
  mutating func forgetContradiction() { isContradicted = false }

  var isFinite: Bool { bias.isFinite && scale.isFinite }

  /// Puts what was observed into `kept`, and takes out what was contradicted.
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
