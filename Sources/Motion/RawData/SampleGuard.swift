public import Spatial

/// Stands before the filter for one sensor: refuses what is not a measurement, counts it, and notices the end of the range.
///
/// A value that repeats is not yet a fault: an ideal sensor at rest repeats too. It is one when, during the repetition,
/// the other sensors saw a motion that this one cannot have missed; the caller hands that motion in with `expectChange`.
public struct SampleGuard: Hashable, Sendable {
  /// What a kind of sensor can measure.
  public struct Limits: Hashable, Sendable {
    /// Beyond this length a value is rubbish, in the sensor's unit.
    public var plausible: Double
    /// Below this a repeated largest value is not taken for the end of the range.
    public var smallestRange: Double

    /// g: shock sensors end at 500 g, the smallest range on the market is 2 g (and a little less by calibration).
    public static let accelerometer = Limits(plausible: 1000, smallestRange: 1.8)
    /// rad/s: the widest range is 4000 °/s, the smallest 125 °/s.
    public static let gyroscope = Limits(plausible: 1000, smallestRange: 2.1)
    /// µT: a magnet on the housing reaches 0.1 T; ranges begin at 400 µT.
    public static let magnetometer = Limits(plausible: 100_000, smallestRange: 380)
  }

  public private(set) var health = SensorHealth()

  private let limits: Limits
  private var lastValue: Vector3?
  private var repeatedSince: Timestamp?
  private var repetitions = 0
  private var missedChange = 0.0
  private var largest = 0.0
  private var repeatedLargest = 0

  /// A value must stand this long (s), this often, through this much change (rad) to be called stuck.
  private static let stuckTime = 1.0
  private static let stuckCount = 10
  private static let stuckChange = 0.6

  public init(limits: Limits) {
    self.limits = limits
  }

  /// Whether a sample may go on to the filter.
  public mutating func admit(_ value: Vector3, at timestamp: Timestamp) -> Bool {
    guard value.isFinite else {
      health.notFinite += 1
      return false
    }
    if let last = lastSeen, timestamp <= last {
      health.outOfOrder += 1
      noteRefusal(at: timestamp)
      return false
    }
    guard value.length <= limits.plausible else {
      health.implausible += 1
      return false
    }
    lastSeen = timestamp
    refusedSince = nil
    if value == lastValue {
      repetitions += 1
    } else {
      lastValue = value
      repeatedSince = timestamp
      repetitions = 0
      missedChange = 0
    }
    noteRange(of: value)
    if repetitions >= Self.stuckCount, missedChange > Self.stuckChange,
      let repeatedSince, timestamp.seconds(since: repeatedSince) >= Self.stuckTime
    {
      health.state = .stuck
      health.stuck += 1
      return false
    }
    health.state = .healthy
    health.accepted += 1
    health.lastSample = timestamp
    if health.isSaturated { health.saturated += 1 }
    return true
  }

  /// Another sensor saw the device turn so that this one's direction must have changed by `angle` rad.
  public mutating func expectChange(by angle: Double) {
    guard angle.isFinite else { return }
    missedChange += angle
  }

  /// What the sensor has said unchanged, for as long as it repeats itself; nil while it changes.
  var repeatedValue: Vector3? { repetitions >= Self.stuckCount ? lastValue : nil }

  private var lastSeen: Timestamp?
  private var refusedSince: Timestamp?
  private var lastRefused: Timestamp?

  /// Whether samples that are all out of order have themselves been in order for so long that it is time that went back:
  /// a clock was set, or one stamp far ahead was nonsense.
  private(set) var hasTimeGoneBack = false

  /// Seconds of such samples; less may be a block that came late.
  private static let patience = 2.0

  private mutating func noteRefusal(at timestamp: Timestamp) {
    if refusedSince == nil || lastRefused.map({ timestamp <= $0 }) ?? true { refusedSince = timestamp }
    lastRefused = timestamp
    hasTimeGoneBack = refusedSince.map { timestamp.seconds(since: $0) >= Self.patience } ?? false
  }

  /// Forgets what time it was.
  mutating func startAnew() {
    (lastSeen, refusedSince, lastRefused, hasTimeGoneBack) = (nil, nil, nil, false)
    (lastValue, repeatedSince, repetitions, missedChange) = (nil, nil, 0, 0)
  }

  /// The end of a range shows as the largest component ever, several times in a row to the last digit.
  private mutating func noteRange(of value: Vector3) {
    let size = max(abs(value.x), abs(value.y), abs(value.z))
    if size > largest {
      largest = size
      repeatedLargest = 1
    } else if size == largest {
      repeatedLargest += 1
    } else {
      repeatedLargest = 0
    }
    health.isSaturated = repeatedLargest >= 3 && size >= limits.smallestRange
  }
}
