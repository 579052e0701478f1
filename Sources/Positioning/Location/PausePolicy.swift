internal import Motion
internal import Spatial

/// Decides when a device stands for so long that locations may pause, and when it has moved again.
///
/// The accelerometer's word goes first, since it costs next to nothing; without it the receiver's speed and place decide.
struct PausePolicy: Sendable {
  enum Change: Hashable, Sendable { case paused, resumed }

  var activity: ActivityType
  private(set) var isPaused = false

  /// What the accelerometer says; nil while it says nothing.
  private var motion: StationaryDetector.State?
  /// Since when everything speaks for rest; nil in motion.
  private var restBegan: Timestamp?
  /// Where the rest began.
  private var anchor: Location?

  /// Metres that a fix may wander around the place of rest ...
  private static let wander = 25.0
  /// ... and that it must be away before it outweighs an accelerometer that feels nothing, as on a ferry.
  private static let carried = 150.0

  init(activity: ActivityType) {
    self.activity = activity
  }

  /// When the pause begins, if nothing moves before.
  var nextDeadline: Timestamp? {
    guard !isPaused else { return nil }
    let needed = motion == .stationary ? activity.limits.feltPausingTime : activity.limits.pausingTime
    return restBegan?.advanced(bySeconds: needed)
  }

  /// Learns what the accelerometer says, when that changes; nil when it falls silent.
  mutating func observe(_ state: StationaryDetector.State?, at timestamp: Timestamp) -> Change? {
    motion = state
    switch state {
    case .moving: return move()
    case .stationary:
      restBegan = restBegan ?? timestamp
      return advance(to: timestamp)
    case nil: return nil
    }
  }

  /// Takes a fix.
  mutating func process(_ location: Location) -> Change? {
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
      // It may have stopped just here.
      if motion != .moving, isSlow(location) { restBegan = location.timestamp }
      return change
    }
    if motion == .moving { return nil }
    restBegan = restBegan ?? location.timestamp
    return advance(to: location.timestamp)
  }

  /// Lets time pass.
  mutating func advance(to timestamp: Timestamp) -> Change? {
    guard let nextDeadline, timestamp >= nextDeadline else { return nil }
    isPaused = true
    return .paused
  }

  /// Forgets everything, as when updates begin.
  mutating func reset() {
    self = PausePolicy(activity: activity)
  }

  private mutating func move() -> Change? {
    restBegan = nil
    guard isPaused else { return nil }
    isPaused = false
    return .resumed
  }

  private func isSlow(_ location: Location) -> Bool {
    // Without a speed the place alone decides.
    (location.speed ?? 0) <= activity.limits.slowest + 2 * min(1, location.speedAccuracy ?? 0)
  }
}
