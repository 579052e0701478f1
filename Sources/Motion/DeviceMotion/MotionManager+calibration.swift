internal import Sensors
internal import Spatial

// What is known of the sensors' own errors, from an earlier run and learned in this one.
extension MotionManager {
  /// What is worth keeping now: what was given at the start with what has been learned since, without what no longer fits.
  /// Its `made` is for whoever keeps it.
  public var calibration: MotionCalibration {
    var calibration = filter.calibration(updating: kept, temperature: temperature)
    calibration.made = nil
    return calibration
  }

  /// Whether some of the calibration given at the start was discarded: the samples contradicted it, or the sensors are
  /// others.
  public var hasDiscardedCalibration: Bool {
    hasForeignCalibration || filter.flags.hasDiscardedCalibration
  }

  /// The bias of the gyroscope follows the chip's temperature as far as it was observed at more than one.
  mutating func follow(_ new: Double) {
    // What was learned belongs to the temperature until now.
    if let temperature {
      kept = filter.calibration(updating: kept, temperature: temperature)
      filter.forgetContradictedBias()
    }
    // Thermometers are noisier than chips change.
    let smooth = temperature.map { $0 + 0.3 * (new - $0) } ?? new
    let before = temperature == nil ? expectedBias : kept.gyroBias(at: temperature)
    if let before, let after = kept.gyroBias(at: smooth), temperature != nil || !filter.hasSeenBias {
      filter.follow(biasChange: after.bias - before.bias)
    }
    temperature = smooth
  }

  /// Hardware says what it is: what was learned on other hardware goes.
  mutating func bind(_ kinds: Set<SensorKind>, to device: String) {
    var isForeign = false
    for kind in kinds where [.accelerometer, .gyroscope, .magnetometer].contains(kind) {
      if kept.bind(kind, to: device) { isForeign = true }
    }
    guard isForeign else { return }
    hasForeignCalibration = true
    filter = AttitudeFilter(calibration: kept)
    expectedBias = kept.gyroBias(at: nil)
    temperature = nil
  }
}
