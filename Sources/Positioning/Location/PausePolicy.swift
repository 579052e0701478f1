internal import Spatial
internal import VehicleData

/// Decides when a device has been at rest long enough for locations to pause, and when it has moved again.
///
/// The accelerometer is used first, because it costs almost no energy; without it, the receiver's speed and
/// position decide. Without a speed, only fixes near the first one confirm a rest, because a vehicle without
/// reception may be in motion.
struct PausePolicy: Sendable {
  enum Change: Hashable, Sendable { case paused, resumed }

  var activity: ActivityType
  private(set) var isPaused = false

  /// State according to the accelerometer; nil if unknown.
  private var motion: MotionState?
  /// Start of a rest that no evidence contradicts; nil in motion.
  private var restBegan: Timestamp?
  /// True if the newest fix has a speed, so that it confirms a rest without another fix.
  private var hasSpeed = false
  /// Location at the start of the rest.
  private var anchor: Location?

  /// Distance in m from the location of the rest, up to which a fix confirms the rest.
  private static let wander = 25.0
  /// Distance in m from the location of the rest, beyond which a fix proves motion although the accelerometer
  /// reports rest, as on a ferry.
  private static let carried = 150.0

  init(activity: ActivityType) {
    self.activity = activity
  }

  /// Time at which updates pause, if no motion is detected earlier; nil if no pause is due without a fix.
  var nextDeadline: Timestamp? { motion == .stationary || hasSpeed ? restEnd : nil }

  /// Time at which the rest is long enough for a pause; nil if there is no rest, or already a pause.
  private var restEnd: Timestamp? {
    guard !isPaused else { return nil }
    let needed = motion == .stationary ? activity.limits.feltPausingTime : activity.limits.pausingTime
    return restBegan?.advanced(bySeconds: needed)
  }

  /// Processes a change of the accelerometer's state; nil if the accelerometer has stopped.
  mutating func observe(_ state: MotionState?, at timestamp: Timestamp) -> Change? {
    motion = state
    switch state {
    case .moving: return move()
    case .stationary:
      restBegan = restBegan ?? timestamp
      return advance(to: timestamp)
    case nil: return nil
    }
  }

  /// Processes motion that another sensor than the accelerometer has measured, such as the wheels.
  mutating func observeMotion() -> Change? { move() }

  /// Processes a fix.
  mutating func process(_ location: Location) -> Change? {
    hasSpeed = location.speed != nil
    guard let anchor else {
      self.anchor = location
      if motion != .moving, isSlow(location) { restBegan = restBegan ?? location.timestamp }
      return advance(to: location.timestamp)
    }
    let distance = anchor.coordinate.distance(to: location.coordinate)
    let accuracy = location.horizontalAccuracy ?? 0
    let hasMoved =
      motion == .stationary
      ? distance > max(Self.carried, 3 * accuracy)
      : !isSlow(location) || distance > max(Self.wander, 2 * accuracy)
    if hasMoved {
      self.anchor = location
      let change = move()
      // The fix proves motion, but the vehicle may already have come to rest here.
      if motion != .moving, isSlow(location) { restBegan = location.timestamp }
      return change
    }
    if motion == .moving { return nil }
    restBegan = restBegan ?? location.timestamp
    return pause(at: location.timestamp, due: restEnd)
  }

  /// Advances the time without a fix.
  mutating func advance(to timestamp: Timestamp) -> Change? {
    pause(at: timestamp, due: nextDeadline)
  }

  /// Resets the policy at the start of updates.
  mutating func reset() {
    self = PausePolicy(activity: activity)
  }

  private mutating func pause(at timestamp: Timestamp, due: Timestamp?) -> Change? {
    guard let due, timestamp >= due else { return nil }
    isPaused = true
    return .paused
  }

  private mutating func move() -> Change? {
    restBegan = nil
    guard isPaused else { return nil }
    isPaused = false
    return .resumed
  }

  private func isSlow(_ location: Location) -> Bool {
    // Without a speed, only the position can show motion.
    (location.speed ?? 0) <= activity.limits.slowest + 2 * min(1, location.speedAccuracy ?? 0)
  }
}
