package import Motion
package import Telemetry

// Attitudes relative to an earlier one, and to the level vehicle.

extension AgentPipeline {
  /// Publishes attitudes relative to the current one, too, from now on.
  /// - Returns: the attitude and its frame; nil if none is available, and then nothing has changed.
  package mutating func zeroAttitude() -> AttitudeMessage? {
    var message = motion.setZero()
    message?.time = timeBase.utc(at: now)
    return message
  }

  /// Publishes attitudes in their frame only.
  package mutating func clearZero() { motion.clearZero() }

  /// Measures the tilt of the device in the vehicle; `lastLevel` contains the result.
  package mutating func startLeveling() {
    motion.startLeveling(at: now)
    finishLeveling()
    power.needsChanged()
    planPower(at: now)
  }

  /// Removes the level.
  package mutating func clearLevel() {
    motion.clearLevel()
    status.setNeedsUpdate()
  }

  /// Tilt of the device in the vehicle, if set.
  package var level: LevelCalibration? { motion.manager.level }

  /// Completes the measurement: the sensors return to their normal demands, and attitudes use new axes.
  mutating func finishLeveling() {
    guard let outcome = motion.drainLevel() else { return }
    lastLevel = (outcome, lastLevel.count + 1)
    if case .measured = outcome { status.setNeedsUpdate() }
    power.needsChanged()
  }
}
