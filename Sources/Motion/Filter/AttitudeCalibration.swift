public import Spatial

/// What is worth keeping across restarts.
public struct AttitudeCalibration: Hashable, Sendable {
  /// A bias that was observed at rest.
  public struct Bias: Hashable, Sendable {
    /// °C, rounded to `temperatureStep`; nil for sensors without a thermometer.
    public var temperature: Double?
    /// rad/s, device frame.
    public var bias: Vector3
    /// rad/s, one deviation per axis.
    public var deviation: Vector3

    public init(temperature: Double?, bias: Vector3, deviation: Vector3) {
      self.temperature = temperature
      self.bias = bias
      self.deviation = deviation
    }
  }

  /// °C between kept biases.
  public static let temperatureStep = 5.0
  /// At most so many biases are kept.
  public static let biasLimit = 32

  /// By rising temperature.
  public private(set) var biases: [Bias] = []
  /// µT, device frame; nil when none was observed.
  public var hardIron: Vector3?
  /// µT, one deviation per axis.
  public var hardIronDeviation = Vector3.zero
  /// What undoes soft iron, to be added to the unit matrix: xx, yy, zz; nil when none was observed.
  public var softIronDiagonal: Vector3?
  /// The same: xy, xz, yz.
  public var softIronOffDiagonal = Vector3.zero
  /// Delay of the magnetometer against the gyroscope, s; nil when none was observed.
  public var magnetometerLag: Double?
  /// Relative scale error of the gyroscope per axis; nil when none was observed.
  public var gyroscopeScaleError: Vector3?
  /// One deviation, of each axis.
  public var gyroscopeScaleDeviation = 0.01

  public init() {}

  /// Keeps a bias, in the place of one for the same temperature step.
  public mutating func keep(_ bias: Bias) {
    guard bias.bias.isFinite, bias.deviation.isFinite else { return }
    var bias = bias
    if let temperature = bias.temperature {
      guard temperature.isFinite, abs(temperature) < 300 else { return }
      bias.temperature = (temperature / Self.temperatureStep).rounded() * Self.temperatureStep
    }
    if let index = biases.firstIndex(where: { $0.temperature == bias.temperature }) {
      biases[index] = bias
    } else if biases.count < Self.biasLimit {
      biases.append(bias)
      biases.sort { ($0.temperature ?? -.infinity) < ($1.temperature ?? -.infinity) }
    }
  }

  /// The bias to be expected at `temperature`, °C: between the two nearest kept ones, or the nearest; nil when none is
  /// kept. Without a temperature, the one kept without, or the one in the middle.
  public func bias(at temperature: Double?) -> Bias? {
    guard let temperature, temperature.isFinite else {
      return biases.first { $0.temperature == nil } ?? (biases.isEmpty ? nil : biases[biases.count / 2])
    }
    let known = biases.filter { $0.temperature != nil }
    guard let above = known.first(where: { ($0.temperature ?? 0) >= temperature }) else {
      return known.last ?? biases.first
    }
    guard let below = known.last(where: { ($0.temperature ?? 0) < temperature }),
      let low = below.temperature, let high = above.temperature, high > low
    else { return above }
    let f = (temperature - low) / (high - low)
    return Bias(
      temperature: temperature, bias: below.bias + f * (above.bias - below.bias),
      deviation: below.deviation + f * (above.deviation - below.deviation))
  }
}

extension AttitudeFilter {
  /// Starts from a kept calibration; each part counts as known to its deviation, and to no less than a restart may
  /// change it.
  mutating func use(_ calibration: AttitudeCalibration, temperature: Double? = nil) {
    expectsIron = calibration.hardIron != nil
    if let kept = calibration.bias(at: temperature), kept.bias.isFinite, kept.bias.length < 0.5 {
      gyroscopeBias = kept.bias
      expectsBias = true
      let least = 0.05 * Double.pi / 180
      for i in 0..<3 {
        let deviation = max(least, min(kept.deviation[i], parameters.biasPrior))
        covariance.reset(
          ErrorState.bias + i..<ErrorState.bias + i + 1, variance: deviation * deviation)
      }
    }
    if let iron = calibration.hardIron, iron.isFinite, iron.length < 1e4 {
      hardIron = iron
      for i in 0..<3 {
        let deviation = max(parameters.hardIronPrior, min(calibration.hardIronDeviation[i], 50))
        covariance.reset(
          ErrorState.hardIron + i..<ErrorState.hardIron + i + 1, variance: deviation * deviation)
      }
    }
    if let diagonal = calibration.softIronDiagonal, diagonal.isFinite, diagonal.length < 0.5,
      calibration.softIronOffDiagonal.isFinite, calibration.softIronOffDiagonal.length < 0.5
    {
      soft.use(diagonal: diagonal, offDiagonal: calibration.softIronOffDiagonal)
    }
    if let kept = calibration.magnetometerLag, kept.isFinite, abs(kept) < 0.08 {
      lag = kept
      covariance.reset(ErrorState.lag..<ErrorState.lag + 1, variance: 0.003 * 0.003)
    }
    if let kept = calibration.gyroscopeScaleError, kept.isFinite, kept.length < 0.2 { scale = kept }
  }

  /// `kept` with what has been learned since. Only what was observed is in it; hard iron that was contradicted is not.
  ///
  /// - Parameters:
  ///   - kept: what was given at the start.
  ///   - temperature: of the gyroscope, °C; nil without a thermometer.
  public func calibration(updating kept: AttitudeCalibration = .init(), temperature: Double? = nil)
    -> AttitudeCalibration
  {
    var result = kept
    let now = state
    if hasContradictedIron {
      result.hardIron = nil
      result.softIronDiagonal = nil
    }
    if soft.isApplied {
      result.softIronDiagonal = soft.diagonal
      result.softIronOffDiagonal = soft.offDiagonal
    }
    let known = 0.1 * Double.pi / 180
    if now.gyroscopeBiasDeviation.max() < known {
      result.keep(
        .init(temperature: temperature, bias: now.gyroscopeBias, deviation: now.gyroscopeBiasDeviation))
    }
    if hasField, sinceAlignment > 20, now.hardIronDeviation.max() < 2 {
      result.hardIron = now.hardIron
      result.hardIronDeviation = now.hardIronDeviation
    }
    if now.magnetometerLagDeviation < 0.003 { result.magnetometerLag = now.magnetometerLag }
    let scaleDeviation = max(0, covariance[ErrorState.scale, ErrorState.scale]).squareRoot()
    if scaleDeviation < 0.5 * parameters.commonScalePrior {
      result.gyroscopeScaleError = now.gyroscopeScaleError
      result.gyroscopeScaleDeviation = scaleDeviation
    }
    return result
  }

  /// The magnetometer contradicted what was kept.
  mutating func discardMagnetometerCalibration() {
    guard expectsIron else { return }
    expectsIron = false
    hasContradictedIron = true
    flags.hasDiscardedCalibration = true
  }
}
