internal import Spatial

extension AttitudeFilter {
  /// Starts from a kept calibration; each part counts as known to its deviation, and to no less than a restart may
  /// change it.
  mutating func use(_ calibration: MotionCalibration) {
    if let kept = calibration.gyroBias(at: nil), kept.bias.isFinite, kept.bias.length < 0.5 {
      gyroscopeBias = kept.bias
      expectsBias = true
      expect(kept)
    }
    if let kept = calibration.magnetometer, kept.hardIron.isFinite, kept.hardIron.length < 1e4 {
      expectsIron = true
      hardIron = kept.hardIron
      for i in 0..<3 {
        // An axis that was never seen counts as it would without a calibration.
        let deviation = max(parameters.hardIronPrior, min(kept.hardIronDeviation[i], 2))
        covariance.reset(
          ErrorState.hardIron + i..<ErrorState.hardIron + i + 1, variance: deviation * deviation)
      }
      evidence.use(iron: kept.hardIron, deviation: kept.hardIronDeviation)
      let (diagonal, offDiagonal) = (kept.softIronDiagonal, kept.softIronOffDiagonal)
      if diagonal.isFinite, diagonal.length < 0.5, offDiagonal.isFinite, offDiagonal.length < 0.5,
        diagonal != .zero || offDiagonal != .zero
      {
        soft.use(diagonal: diagonal, offDiagonal: offDiagonal)
      }
    }
    if let kept = calibration.magnetometerLag, kept.isFinite, abs(kept) < 0.08 {
      lag = kept
      covariance.reset(ErrorState.lag..<ErrorState.lag + 1, variance: 0.003 * 0.003)
    }
    if let kept = calibration.gyroscopeScaleError, kept.isFinite, kept.length < 0.2 { scale = kept }
  }

  private mutating func expect(_ kept: MotionCalibration.GyroBias) {
    let least = 0.05 * Double.pi / 180
    for i in 0..<3 {
      let deviation = max(least, min(kept.deviation[i], parameters.biasPrior))
      covariance.reset(
        ErrorState.bias + i..<ErrorState.bias + i + 1, variance: deviation * deviation)
    }
  }

  /// The temperature has changed: moves the bias by as much as kept biases say that it moves.
  mutating func follow(biasChange: Vector3) {
    guard biasChange.isFinite, biasChange.length < 0.5 else { return }
    gyroscopeBias += biasChange
    // A third of a predicted change may be wrong.
    let deviation = 0.3 * biasChange.length
    covariance.addVariance(deviation * deviation, to: ErrorState.bias..<ErrorState.bias + 3)
  }

  /// Whether the bias has been seen at rest since the start.
  var hasSeenBias: Bool { restDuration >= 1 }

  /// `kept` with what has been learned since. Only what was observed is in it; what the samples contradicted is not.
  ///
  /// - Parameters:
  ///   - kept: what was given at the start.
  ///   - temperature: of the gyroscope, °C; nil without a thermometer.
  public func calibration(updating kept: MotionCalibration = .init(), temperature: Double? = nil)
    -> MotionCalibration
  {
    var result = kept
    if hasContradictedIron { result.magnetometer = nil }
    if hasContradictedBias { result.forgetGyroBiases() }
    let now = state
    let known = 0.1 * Double.pi / 180
    if restDuration >= 1, now.gyroscopeBiasDeviation.max() < known {
      result.keep(
        .init(temperature: temperature, bias: now.gyroscopeBias, deviation: now.gyroscopeBiasDeviation))
    }
    if hasField, sinceAlignment > 20, now.hardIronDeviation.max() < 2,
      fieldAccuracy >= .medium
    {
      let seen = evidence.ironDeviation
      var magnetometer = MotionCalibration.Magnetometer(
        hardIron: now.hardIron,
        hardIronDeviation: Vector3(
          max(seen.x, now.hardIronDeviation.x), max(seen.y, now.hardIronDeviation.y),
          max(seen.z, now.hardIronDeviation.z)))
      if soft.isApplied {
        magnetometer.softIronDiagonal = soft.diagonal
        magnetometer.softIronOffDiagonal = soft.offDiagonal
      }
      result.magnetometer = magnetometer
    }
    if now.magnetometerLagDeviation < 0.003 { result.magnetometerLag = now.magnetometerLag }
    let scaleDeviation = max(0, covariance[ErrorState.scale, ErrorState.scale]).squareRoot()
    if scaleDeviation < 0.5 * parameters.commonScalePrior {
      result.gyroscopeScaleError = now.gyroscopeScaleError
    }
    return result
  }

  /// The magnetometer contradicted what was kept.
  mutating func discardMagnetometerCalibration() {
    guard expectsIron else { return }
    expectsIron = false
    hasContradictedIron = true
    evidence.forgetIron()
    noteEvidence()
    flags.hasDiscardedCalibration = true
  }

  /// Brings up to date what is claimed of the field.
  mutating func noteEvidence() {
    headingBound = evidence.headingBound(of: field)
    fieldAccuracy = MagneticFieldCalibrationAccuracy(headingBound: headingBound)
  }
}
