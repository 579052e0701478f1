internal import Spatial

/// Whether the vehicle is parked, as far as ignition, speeds and the accelerometer tell.
struct ParkingState: Hashable, Sendable {
  /// s of standing after which a vehicle is parked whose ignition nobody tells: no traffic light is as long. And of motion after which
  /// it is not, where no speed says so: what is lifted onto a lorry shakes for less.
  private static let (onset, release) = (180.0, 120.0)
  /// m/s that no parked vehicle has by a receiver or its own wheels.
  private static let slowest = 2.0
  /// Speeds in a row: a receiver that wakes may begin with a wrong one.
  private static let speedsNeeded = 3

  private(set) var ignition: Bool?
  private var isEngineRunning: Bool?
  private var standing = LastingCondition(onset: onset, release: release)
  private var fast = 0

  /// Whether it is parked; with a known ignition that alone counts.
  var isParked: Bool {
    if isEngineRunning == true { return false }
    if let ignition { return !ignition }
    return standing.isOn
  }

  /// Whether it is known that nobody drives it.
  var isLocked: Bool { ignition == false && isEngineRunning != true }

  mutating func observe(ignition: Bool?) { self.ignition = ignition }
  mutating func observe(isEngineRunning: Bool?) { self.isEngineRunning = isEngineRunning }

  /// - Parameter isStanding: by the accelerometer; nil where it does not say.
  mutating func observe(isStanding: Bool?, at now: Timestamp) { _ = standing.update(isStanding, at: now) }

  mutating func observe(speed: Double) {
    fast = speed > Self.slowest ? fast + 1 : 0
    if fast >= Self.speedsNeeded { standing.reset() }
  }

  mutating func advance(to now: Timestamp) { _ = standing.change(at: now) }

  var nextDeadline: Timestamp? { standing.nextDeadline }
}
