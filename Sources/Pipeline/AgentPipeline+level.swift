package import Motion
package import Telemetry

// Attitudes relative to a moment, and to the level vehicle.

extension AgentPipeline {
  /// Tells attitudes relative to this moment, too, from now on.
  /// - Returns: the attitude and its frame; nil when none is known, and nothing has changed.
  package mutating func zeroAttitude() -> AttitudeMessage? {
    var message = motion.setZero()
    message?.time = timeBase.utc(at: now)
    return message
  }

  /// Tells attitudes in their frame only.
  package mutating func clearZero() { motion.clearZero() }

  /// Measures how the device is tilted in the vehicle; `lastLevel` tells how that ended.
  package mutating func startLeveling() {
    motion.startLeveling(at: now)
    finishLeveling()
    power.needsChanged()
    planPower(at: now)
  }

  /// Takes the device for level again.
  package mutating func clearLevel() {
    motion.clearLevel()
    status.setNeedsUpdate()
  }

  /// How the device is tilted in the vehicle, where that is in force.
  package var level: LevelCalibration? { motion.manager.level }

  /// The sensors need not do more for it any longer, and what is told is told in other axes.
  mutating func finishLeveling() {
    guard let outcome = motion.drainLevel() else { return }
    lastLevel = (outcome, lastLevel.count + 1)
    if case .measured = outcome { status.setNeedsUpdate() }
    power.needsChanged()
  }
}
