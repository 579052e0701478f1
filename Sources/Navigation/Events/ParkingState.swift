internal import Spatial

/// The parking state, from ignition, speeds and the accelerometer.
struct ParkingState: Hashable, Sendable {
  /// The time at rest in s after which a vehicle without an ignition signal is parked, which is longer than
  /// at any traffic light; and the time of motion in s after which it is not, if there are no speeds. Loading
  /// onto a lorry shakes the vehicle for less.
  private static let (onset, release) = (180.0, 120.0)
  /// The speed in m/s by receiver or wheels that no parked vehicle reaches.
  private static let slowest = 2.0
  /// The number of consecutive speeds required, because a receiver can start with a wrong one.
  private static let speedsNeeded = 3

  private(set) var ignition: Bool?
  private var isEngineRunning: Bool?
  private var standing = LastingCondition(onset: onset, release: release)
  private var fast = 0

  /// True if the vehicle is parked. A known ignition state takes precedence.
  var isParked: Bool {
    if isEngineRunning == true { return false }
    if let ignition { return !ignition }
    return standing.isOn
  }

  /// True if the ignition is known to be off and the engine is not running.
  var isLocked: Bool { ignition == false && isEngineRunning != true }

  mutating func observe(ignition: Bool?) { self.ignition = ignition }
  mutating func observe(isEngineRunning: Bool?) { self.isEngineRunning = isEngineRunning }

  /// Updates the accelerometer's verdict.
  ///
  /// - Parameter isStanding: true at rest; nil if undetermined.
  mutating func observe(isStanding: Bool?, at now: Timestamp) { _ = standing.update(isStanding, at: now) }

  mutating func observe(speed: Double) {
    fast = speed > Self.slowest ? fast + 1 : 0
    if fast >= Self.speedsNeeded { standing.reset() }
  }

  mutating func advance(to now: Timestamp) { _ = standing.change(at: now) }

  var nextDeadline: Timestamp? { standing.nextDeadline }
}
