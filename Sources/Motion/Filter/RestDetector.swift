internal import Spatial

/// Detects rest from the constancy of gyroscope and accelerometer, as VQF does (Laidig and Seel 2023, section
/// 3.4), here on blocks of samples. With a running engine, samples within a block vary more than in a slow
/// walk, but the means of blocks do not. Constant means therefore count as rest even with strong vibration.
///
/// In a drive of nine minutes, the block means of the specific force varied by 0.02 to 0.05 m/s² in stops and
/// by at least 0.15 m/s² in motion. The block means of the rate varied by 0.05 to 0.25 °/s in stops and by at
/// least 0.5 °/s in motion. The deviation of the rate within blocks was 2.2 °/s idling and 1 to 11 °/s
/// driving.
struct RestDetector: Sendable {
  /// Sequence of blocks whose means are close to each other.
  private struct Run: Sendable {
    var rate = Vector3.zero
    var force = Vector3.zero
    /// Mean squared deviations of the blocks from the means `rate` and `force`, on the axis that deviates
    /// most: in (rad/s)² and (m/s²)².
    var rateSquare = 0.0
    var forceSquare = 0.0
    var blocks = 0
    var duration = 0.0

    mutating func add(_ r: Vector3, _ f: Vector3, interval: Double) {
      blocks += 1
      duration += interval
      let gain = max(1 / Double(blocks), interval / (2 + interval))
      let (byRate, byForce) = (r - rate, f - force)
      rate += gain * byRate
      force += gain * byForce
      guard blocks > 1 else { return }
      rateSquare += gain * ((byRate * byRate).max() - rateSquare)
      forceSquare += gain * ((byForce * byForce).max() - forceSquare)
    }
  }

  private var quiet = Run()
  private var vibrating = Run()
  /// True if the newest block is as constant as at rest.
  private(set) var isStill = true
  /// True if the device has been still for long enough.
  private(set) var isAtRest = false

  /// Duration of the rest in s; 0 in motion.
  var duration: Double { isAtRest ? max(quiet.duration, vibrating.duration) : 0 }
  /// Mean specific force of the rest in m/s², device frame.
  var force: Vector3 { quiet.blocks > 0 ? quiet.force : vibrating.force }
  /// Mean squared deviation of the blocks' mean rates from the mean of the rest, in (rad/s)².
  var rateVariance: Double { quiet.blocks > 0 ? 0 : vibrating.rateSquare }

  /// Limits with a running engine. `scatter` and `vibration` limit the variation of the blocks' means and of
  /// the samples within a block, as shares of `restRate` and `restForce`. `durationFactor` multiplies
  /// `restTime`, the required duration.
  private static let scatter = 0.2
  private static let vibration = (rate: 2.5, force: 1.0)
  private static let durationFactor = 2.0

  /// Processes the statistics of a block.
  mutating func process(_ block: FilterBlock, _ parameters: AttitudeFilter.Parameters) {
    // Nothing was measured in a gap, so it does not count as rest.
    let (rate, force, interval) = (block.rate, block.force, block.duration - block.gap)
    guard force.count > 0, rate.count > 0 else {
      isStill = false
      return
    }
    let (r, f) = (rate.mean, force.mean)
    func isNear(_ run: Run) -> Bool {
      run.blocks == 0
        || ((r - run.rate).length <= 0.5 * parameters.restRate
          && (f - run.force).length <= 0.5 * parameters.restForce)
    }
    let isQuiet =
      rate.deviation <= 0.5 * parameters.restRate && force.deviation <= 0.5 * parameters.restForce
    if isQuiet, isNear(quiet) { quiet.add(r, f, interval: interval) } else { quiet = Run() }
    let isVibrating =
      rate.deviation <= Self.vibration.rate * parameters.restRate
      && force.deviation <= Self.vibration.force * parameters.restForce
    if isVibrating, isNear(vibrating), !hasScattered(parameters) {
      vibrating.add(r, f, interval: interval)
    } else {
      vibrating = Run()
    }
    let isSteady =
      vibrating.duration >= Self.durationFactor * parameters.restTime && !hasScattered(parameters)
    isStill = quiet.blocks > 0 || isSteady
    isAtRest = quiet.duration >= parameters.restTime || isSteady
  }

  /// Returns whether the means of the blocks accepted as vibrating vary as much as in motion.
  private func hasScattered(_ parameters: AttitudeFilter.Parameters) -> Bool {
    let (rate, force) = (Self.scatter * parameters.restRate, Self.scatter * parameters.restForce)
    return vibrating.blocks > 3
      && (vibrating.rateSquare > rate * rate || vibrating.forceSquare > force * force)
  }
}
