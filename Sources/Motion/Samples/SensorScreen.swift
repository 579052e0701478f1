internal import Spatial

/// Judges the samples of one sensor: refuses what is not a measurement and counts it.
///
/// A value that repeats is not yet a fault: an ideal sensor at rest repeats too. It is doubtful when other sensors go on
/// changing, and it is refused when, during the repetition, they saw a motion that this one cannot have missed; the
/// caller hands that motion in with `expectChange`.
struct SensorScreen: Hashable, Sendable {
  private(set) var health = SensorHealth()
  /// What the sensor has said unchanged, for as long as it repeats itself; nil while it changes.
  var repeatedValue: Vector3? { repetitions >= Self.stuckCount ? lastValue : nil }
  /// Whether the newest sample was equal to the one before.
  var isRepeating: Bool { repetitions > 0 }
  /// Time of the last sample that differed from the one before.
  private(set) var lastChange: Timestamp?
  /// Whether samples that are all out of order have themselves been in order for so long that it is time that went back:
  /// a clock was set, or one stamp far ahead was nonsense.
  private(set) var hasTimeGoneBack = false

  /// Beyond this length a value is rubbish, in the scan's unit.
  private let plausible: Double
  private var lastSeen: Timestamp?
  /// Of the newest sample that was a measurement.
  private(set) var lastValue: Vector3?
  private var repetitions = 0
  private var missedChange = 0.0
  private var refusedSince: Timestamp?
  private var lastRefused: Timestamp?

  /// A value must stand this long (s), this often, through this much change (rad) to be called stuck.
  private static let stuckTime = 1.0
  private static let stuckCount = 10
  private static let stuckChange = 0.6
  /// s for which a value must stand while others change to be doubtful.
  private static let doubtfulTime = 2.0
  /// Seconds of samples out of order; less may be a block that came late.
  private static let patience = 2.0

  init(plausible: Double) { self.plausible = plausible }

  /// Whether a sample may go on.
  @inline(__always)
  mutating func admit(_ value: Vector3, at timestamp: Timestamp) -> Bool {
    if let lastSeen, timestamp <= lastSeen {
      guard value.isFinite else {
        health.notFinite += 1
        return false
      }
      health.outOfOrder += 1
      if refusedSince == nil || lastRefused.map({ timestamp <= $0 }) ?? true { refusedSince = timestamp }
      lastRefused = timestamp
      hasTimeGoneBack = refusedSince.map { timestamp.seconds(since: $0) >= Self.patience } ?? false
      return false
    }
    // A comparison with NaN is false.
    guard value.dot(value) <= plausible * plausible else {
      if value.isFinite { health.implausible += 1 } else { health.notFinite += 1 }
      return false
    }
    lastSeen = timestamp
    refusedSince = nil
    if value == lastValue {
      repetitions += 1
    } else {
      lastValue = value
      lastChange = timestamp
      repetitions = 0
      missedChange = 0
    }
    if repetitions >= Self.stuckCount, missedChange > Self.stuckChange,
      let lastChange, timestamp.seconds(since: lastChange) >= Self.stuckTime
    {
      health.state = .stuck
      health.stuck += 1
      return false
    }
    health.state = .healthy
    health.accepted += 1
    if repetitions > 0 { health.repeated += 1 }
    health.lastSample = timestamp
    return true
  }

  /// Another sensor saw the device turn so that this one's direction must have changed by `angle` rad.
  mutating func expectChange(by angle: Double) {
    if angle.isFinite { missedChange += angle }
  }

  /// Whether the sensor has repeated itself for long while one of the others went on changing.
  @inline(__always)
  func isDoubtful(at timestamp: Timestamp, beside first: SensorScreen, _ second: SensorScreen) -> Bool {
    guard repetitions > 0, let lastChange, timestamp.seconds(since: lastChange) > Self.doubtfulTime else {
      return false
    }
    func varies(_ other: SensorScreen) -> Bool {
      other.lastChange.map { $0.seconds(since: lastChange) > 0.8 * Self.doubtfulTime } ?? false
    }
    return varies(first) || varies(second)
  }

  /// Forgets what time it was; the counts go on.
  mutating func startAnew() {
    let health = health
    self = SensorScreen(plausible: plausible)
    self.health = health
  }
}
