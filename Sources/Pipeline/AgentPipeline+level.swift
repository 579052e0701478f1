package import Motion
package import Telemetry

// Attitudes relative to a reference attitude (command `zero`), and tilt compensation (command `level`).

extension AgentPipeline {
  /// Makes the current attitude the reference: from now on, attitudes are also published relative to it.
  /// - Returns: the reference attitude and its frame; nil if no attitude is available, in which case the
  ///   previous reference remains.
  package mutating func zeroAttitude() -> AttitudeMessage? {
    var message = motion.setZero()
    message?.time = timeBase.utc(at: now)
    return message
  }

  /// Removes the reference: attitudes are only published relative to their frame.
  package mutating func clearZero() { motion.clearZero() }

  /// Starts measuring the tilt of the device in the vehicle; `lastLevel` contains the outcome later.
  package mutating func startLeveling() {
    motion.startLeveling(at: now)
    finishLeveling()
    power.needsChanged()
    planPower(at: now)
  }

  /// Removes the tilt compensation.
  package mutating func clearLevel() {
    motion.clearLevel()
    status.setNeedsUpdate()
  }

  /// The measured tilt of the device in the vehicle, which is compensated; nil if it was not measured.
  package var level: LevelCalibration? { motion.manager.level }

  /// Completes the tilt measurement: sensors return to their normal demands, and attitudes use the
  /// compensated axes.
  mutating func finishLeveling() {
    guard let outcome = motion.drainLevel() else { return }
    lastLevel = (outcome, lastLevel.count + 1)
    if case .measured = outcome { status.setNeedsUpdate() }
    power.needsChanged()
  }
}
