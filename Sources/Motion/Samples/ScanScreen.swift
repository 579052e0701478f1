public import Sensors
public import Spatial

/// What a scan was passed on with a reservation.
public struct ScanDoubts: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The gyroscope repeats one value while other sensors vary.
  public static let gyroscope = ScanDoubts(rawValue: 1)
  /// The accelerometer repeats one value while others vary.
  public static let accelerometer = ScanDoubts(rawValue: 2)
  /// The magnetometer repeats one value while others vary.
  public static let magnetometer = ScanDoubts(rawValue: 4)
  /// The magnetometer's value is the one before, held.
  public static let heldField = ScanDoubts(rawValue: 8)
  /// The first scan after time went back: a clock was set, or one stamp far ahead was nonsense. What was known of the device still
  /// holds, but what was stamped is not comparable.
  public static let timeWentBack = ScanDoubts(rawValue: 16)
}

/// The one place where scans are judged: what is not finite, out of order, beyond any sensor's range or stuck is taken
/// out and counted. Each sensor bears witness for the others. Samples of a batch that share one stamp are spread over the time since
/// the batch before.
public struct ScanScreen: Hashable, Sendable {
  /// m/s²: shock sensors end at 500 g.
  private var accelerometer = SensorScreen(plausible: 5000)
  /// rad/s: the widest range is 4000 °/s, which is 121 rad/s along the diagonal.
  private var gyroscope = SensorScreen(plausible: 200)
  /// µT: a magnet on the housing reaches 0.1 T.
  private var magnetometer = SensorScreen(plausible: 100_000)
  /// Of the scans with each sensor as their first.
  private var gyroscopeBatches = BatchClock()
  private var accelerometerBatches = BatchClock()
  private var magnetometerBatches = BatchClock()
  private var lastTurn: Timestamp?
  /// Low-passed force, over about 0.3 s.
  private var smoothForce: Vector3?
  private var lastForceTime: Timestamp?
  private var forceAtRepetition: Vector3?

  /// Rotation slower than this (rad/s) may be bias and bears no witness.
  private static let certainRotation = 0.2
  /// °C in which a chip works.
  private static let temperatures = -60.0...150.0

  public init() {}

  /// What became of the samples of an inertial sensor; nil for other kinds.
  public func health(of kind: SensorKind) -> SensorHealth? {
    switch kind {
    case .accelerometer: accelerometer.health
    case .gyroscope: gyroscope.health
    case .magnetometer: magnetometer.health
    case .barometer, .thermometer, .positioning, .wifi, .cellular: nil
    }
  }

  /// Forgets what time it was; the counts go on.
  private mutating func startAnew() {
    accelerometer.startAnew()
    gyroscope.startAnew()
    magnetometer.startAnew()
    (lastTurn, forceAtRepetition) = (nil, nil)
    (smoothForce, lastForceTime) = (nil, nil)
  }

  /// Takes out of a scan what is no measurement, and stamps it with its own time where it shares a batch's. What is left may be
  /// empty.
  public mutating func admit(_ scan: inout InertialScan) -> ScanDoubts {
    spread(&scan)
    var verdict = judge(scan)
    if accelerometer.hasTimeGoneBack || gyroscope.hasTimeGoneBack || magnetometer.hasTimeGoneBack {
      verdict = judgeAnew(scan)
    }
    if verdict.isGyroscopeRefused { scan.rotationRate = nil }
    if verdict.isAccelerometerRefused { scan.specificForce = nil }
    if verdict.isMagnetometerRefused { scan.magneticField = nil }
    if let temperature = scan.temperature, !Self.temperatures.contains(temperature) { scan.temperature = nil }
    return verdict.doubts
  }

  private struct Verdict {
    var doubts: ScanDoubts = []
    var isGyroscopeRefused = false
    var isAccelerometerRefused = false
    var isMagnetometerRefused = false
  }

  /// Time went back: what comes now is the first of a new time.
  @inline(never)
  private mutating func judgeAnew(_ scan: InertialScan) -> Verdict {
    startAnew()
    var verdict = judge(scan)
    verdict.doubts.insert(.timeWentBack)
    return verdict
  }

  private mutating func spread(_ scan: inout InertialScan) {
    if scan.contains(.gyroscope) {
      scan.timestamp = gyroscopeBatches.time(of: scan.timestamp)
    } else if scan.contains(.accelerometer) {
      scan.timestamp = accelerometerBatches.time(of: scan.timestamp)
    } else if scan.contains(.magnetometer) {
      scan.timestamp = magnetometerBatches.time(of: scan.timestamp)
    }
  }

  @inline(__always)
  private mutating func judge(_ scan: borrowing InertialScan) -> Verdict {
    let time = scan.timestamp
    var verdict = Verdict()
    if let rate = scan.rotationRate {
      if gyroscope.admit(rate, at: time) {
        bearWitness(rate, at: time)
        if gyroscope.isDoubtful(at: time, beside: accelerometer, magnetometer) {
          verdict.doubts.insert(.gyroscope)
        }
      } else {
        verdict.isGyroscopeRefused = true
      }
    }
    if let force = scan.specificForce {
      if accelerometer.admit(force, at: time) {
        bearWitness(force: force, at: time)
        if accelerometer.isDoubtful(at: time, beside: gyroscope, magnetometer) {
          verdict.doubts.insert(.accelerometer)
        }
      } else {
        verdict.isAccelerometerRefused = true
      }
    }
    if let field = scan.magneticField {
      if magnetometer.admit(field, at: time) {
        if magnetometer.isRepeating { verdict.doubts.insert(.heldField) }
        if magnetometer.isDoubtful(at: time, beside: gyroscope, accelerometer) {
          verdict.doubts.insert(.magnetometer)
        }
      } else {
        verdict.isMagnetometerRefused = true
      }
    }
    return verdict
  }

  /// A rotation about the very direction that a sensor measures does not change it.
  @inline(__always)
  private mutating func bearWitness(_ rate: Vector3, at time: Timestamp) {
    defer { lastTurn = time }
    guard accelerometer.isRepeating || magnetometer.isRepeating, let lastTurn,
      rate.length > Self.certainRotation
    else { return }
    let step = max(0, min(0.1, time.seconds(since: lastTurn)))
    if let direction = accelerometer.lastValue?.normalized {
      accelerometer.expectChange(by: rate.cross(direction).length * step)
    }
    if let direction = magnetometer.lastValue?.normalized {
      magnetometer.expectChange(by: rate.cross(direction).length * step)
    }
  }

  /// A gyroscope that repeats a small value while gravity moves through the device is stuck. Braking tilts the reading by
  /// 45° at the very most, so only more than that counts.
  @inline(__always)
  private mutating func bearWitness(force: Vector3, at time: Timestamp) {
    // A low-pass of first order at 0.5 Hz, without the exponential: this runs for every scan.
    let gain = min(1, .pi * (lastForceTime.map { time.seconds(since: $0) } ?? 0))
    let before = smoothForce ?? force
    let smooth = before + gain * (force - before)
    (smoothForce, lastForceTime) = (smooth, time)
    guard let repeated = gyroscope.repeatedValue, repeated.length < Self.certainRotation else {
      forceAtRepetition = nil
      return
    }
    guard let start = forceAtRepetition else {
      forceAtRepetition = smooth
      return
    }
    if Quaternion.shortest(from: start, to: smooth).angle > 0.8 { gyroscope.expectChange(by: 1) }
  }
}

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
  /// Of those, in order.
  private var refusedInOrder = 0
  /// s, typical between samples.
  private var period = 0.0
  /// The last sample before the newest hole in the stamps.
  private var holeStart: Timestamp?

  /// A value must stand this long (s), this often, through this much change (rad) to be called stuck.
  private static let stuckTime = 1.0
  private static let stuckCount = 10
  private static let stuckChange = 0.6
  /// s for which a value must stand while others change to be doubtful.
  private static let doubtfulTime = 2.0
  /// Samples out of order, in order among themselves, after which time went back. Where they would fill a hole they may be a block
  /// that came late, and have so many seconds.
  private static let patience = (count: 5, inHole: 2.0)

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
      if timestamp < lastSeen { judgeOrder(timestamp) }
      return false
    }
    // A comparison with NaN is false.
    guard value.dot(value) <= plausible * plausible else {
      if value.isFinite { health.implausible += 1 } else { health.notFinite += 1 }
      return false
    }
    if let lastSeen {
      let interval = timestamp.seconds(since: lastSeen)
      if interval <= 3 * period {
        period += 0.02 * (interval - period)
      } else {
        observeHole(interval, after: lastSeen)
      }
    }
    lastSeen = timestamp
    if refusedInOrder > 0 { (refusedSince, refusedInOrder) = (nil, 0) }
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

  /// The second sample, which says how far samples are apart, or one that is farther from the one before than is usual.
  private mutating func observeHole(_ interval: Double, after last: Timestamp) {
    if period > 0 {
      holeStart = last
      period *= 1.04
    } else {
      period = min(interval, 1)
    }
  }

  /// A sample that is older than one before.
  private mutating func judgeOrder(_ timestamp: Timestamp) {
    if refusedSince == nil || lastRefused.map({ timestamp <= $0 }) ?? true {
      (refusedSince, refusedInOrder) = (timestamp, 0)
    }
    refusedInOrder += 1
    lastRefused = timestamp
    guard let refusedSince, refusedInOrder >= Self.patience.count else { return }
    let fillsHole = holeStart.map { refusedSince > $0 } ?? false
    hasTimeGoneBack = !fillsHole || timestamp.seconds(since: refusedSince) >= Self.patience.inHole
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

/// What became of a sensor's samples: everything refused is counted by its reason.
public struct SensorHealth: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// Nothing has been heard yet.
    case silent
    case healthy
    /// Its values no longer change although other sensors show that they must. Refused until they change again.
    case stuck
  }

  public var state = State.silent
  /// Samples passed on.
  public var accepted = 0
  /// Passed on although equal to the one before: held, or an ideal sensor at rest.
  public var repeated = 0
  /// Refused: NaN or an infinity.
  public var notFinite = 0
  /// Refused: not later than the sample before.
  public var outOfOrder = 0
  /// Refused: beyond what any sensor of the kind can measure.
  public var implausible = 0
  /// Refused: the sensor was stuck.
  public var stuck = 0
  /// Of the newest sample that was passed on.
  public var lastSample: Timestamp?

  public init() {}

  /// All samples refused.
  public var refused: Int { notFinite + outOfOrder + implausible + stuck }
}
