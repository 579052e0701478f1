internal import Spatial

/// Tells rest from motion by how constant gyroscope and accelerometer are, as VQF does (Laidig and Seel 2023, section 3.4),
/// here on blocks of samples.
struct RestDetector: Sendable {
  private var meanRate = Vector3.zero
  private var meanForce = Vector3.zero
  private var blocks = 0
  private var duration = 0.0
  /// This block is as constant as at rest.
  private(set) var isStill = true
  /// Still for long enough.
  private(set) var isAtRest = false

  /// Takes the statistics of a block.
  mutating func process(_ block: FilterBlock, _ parameters: AttitudeFilter.Parameters) {
    let (rate, force, interval) = (block.rate, block.force, block.duration)
    guard force.count > 0, rate.count > 0 else {
      isStill = false
      return
    }
    let (r, f) = (rate.mean, force.mean)
    isStill =
      rate.deviation <= 0.5 * parameters.restRate && force.deviation <= 0.5 * parameters.restForce
      && (blocks == 0
        || ((r - meanRate).length <= 0.5 * parameters.restRate
          && (f - meanForce).length <= 0.5 * parameters.restForce))
    guard isStill else {
      blocks = 0
      duration = 0
      isAtRest = false
      return
    }
    blocks += 1
    duration += interval
    let gain = max(1 / Double(blocks), interval / (2 + interval))
    meanRate += gain * (r - meanRate)
    meanForce += gain * (f - meanForce)
    isAtRest = duration >= parameters.restTime
  }
}
