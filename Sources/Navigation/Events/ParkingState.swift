internal import Spatial

/// The parking state, from ignition, speeds and the accelerometer.
struct ParkingState: Hashable, Sendable {
  /// Times in s for a vehicle without an ignition signal. After `onset` at rest it counts as parked; this is
  /// longer than at any traffic light. After `release` in motion it no longer counts as parked, if there are
  /// no speeds. Loading onto a lorry shakes the vehicle for a shorter time.
  private static let (onset, release) = (180.0, 120.0)
  /// The speed in m/s of receiver or wheels, above which the vehicle is not parked.
  private static let slowest = 2.0
  /// The number of consecutive speeds above `slowest` that are required, because the first speed of a
  /// receiver can be wrong.
  private static let speedsNeeded = 3

  private(set) var ignition: Bool?
  private var isEngineRunning: Bool?
  private var standing = LastingCondition(onset: onset, release: release)
  private var fast = 0

  /// True if the vehicle is parked. If the state of the ignition is available, it alone decides.
  var isParked: Bool {
    if isEngineRunning == true { return false }
    if let ignition { return !ignition }
    return standing.isOn
  }

  /// True if the ignition is known to be off and the engine is not running.
  var isLocked: Bool { ignition == false && isEngineRunning != true }

  mutating func observe(ignition: Bool?) { self.ignition = ignition }
  mutating func observe(isEngineRunning: Bool?) { self.isEngineRunning = isEngineRunning }

  /// Updates the state that the accelerometer detects.
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
