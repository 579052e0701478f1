public import Sensors
public import Spatial

/// Problems of an accepted scan, which reduce the weight of its samples.
public struct ScanDoubts: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The gyroscope repeats one value while other sensors vary.
  public static let gyroscope = ScanDoubts(rawValue: 1)
  /// The accelerometer repeats one value while other sensors vary.
  public static let accelerometer = ScanDoubts(rawValue: 2)
  /// The magnetometer repeats one value while other sensors vary.
  public static let magnetometer = ScanDoubts(rawValue: 4)
  /// The magnetometer's sample equals its previous sample.
  public static let heldField = ScanDoubts(rawValue: 8)
  /// The first scan after time went back: a clock was set, or one stamp was far ahead by mistake. The
  /// device's state remains valid, but earlier times are not comparable.
  public static let timeWentBack = ScanDoubts(rawValue: 16)
}

/// Validates all scans: values that are not finite, out of order, beyond any sensor's range or stuck are
/// removed and counted. The sensors are checked against each other. Samples of a batch that share one stamp
/// are distributed over the time since the previous batch.
public struct ScanScreen: Hashable, Sendable {
  /// Limit in m/s²: shock sensors measure up to 500 g.
  private var accelerometer = SensorScreen(plausible: 5000)
  /// Limit in rad/s: the widest range is 4000 °/s, or 121 rad/s along the diagonal.
  private var gyroscope = SensorScreen(plausible: 200)
  /// Limit in µT: a magnet on the housing reaches 0.1 T.
  private var magnetometer = SensorScreen(plausible: 100_000)
  /// Clocks that distribute the samples of batches; a scan uses the clock of the first sensor that it
  /// contains.
  private var gyroscopeBatches = BatchClock()
  private var accelerometerBatches = BatchClock()
  private var magnetometerBatches = BatchClock()
  private var lastTurn: Timestamp?
  /// Low-passed force, over about 0.3 s.
  private var smoothForce: Vector3?
  private var lastForceTime: Timestamp?
  private var forceAtRepetition: Vector3?

  /// Rotation rate in rad/s up to which a reading may be bias. Smaller rates are no evidence of a rotation.
  private static let certainRotation = 0.2
  /// Temperature range in °C of a working chip.
  private static let temperatures = -60.0...150.0

  public init() {}

  /// Returns the sample statistics of an inertial sensor; nil for other kinds.
  public func health(of kind: SensorKind) -> SensorHealth? {
    switch kind {
    case .accelerometer: accelerometer.health
    case .gyroscope: gyroscope.health
    case .magnetometer: magnetometer.health
    case .barometer, .thermometer, .positioning, .wifi, .cellular: nil
    }
  }

  /// Resets everything that refers to earlier times; the sample counts continue.
  private mutating func startAnew() {
    accelerometer.startAnew()
    gyroscope.startAnew()
    magnetometer.startAnew()
    (lastTurn, forceAtRepetition) = (nil, nil)
    (smoothForce, lastForceTime) = (nil, nil)
  }

  /// Removes invalid measurements from a scan, and corrects its time if it shares the stamp of a batch. The
  /// remaining scan may be empty.
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

  /// Restarts all times after time went back.
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
        recordMotion(rate, at: time)
        if gyroscope.isDoubtful(at: time, beside: accelerometer, magnetometer) {
          verdict.doubts.insert(.gyroscope)
        }
      } else {
        verdict.isGyroscopeRefused = true
      }
    }
    if let force = scan.specificForce {
      if accelerometer.admit(force, at: time) {
        recordMotion(force: force, at: time)
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

  /// Reports a rotation to accelerometer and magnetometer while they repeat a value. A rotation about the
  /// measured direction itself does not change the reading, so only the rest counts.
  @inline(__always)
  private mutating func recordMotion(_ rate: Vector3, at time: Timestamp) {
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

  /// Checks whether the gyroscope is stuck: it repeats a small value while gravity changes its direction in
  /// the device. Braking tilts the reading by at most 45°, so only larger changes count.
  @inline(__always)
  private mutating func recordMotion(force: Vector3, at time: Timestamp) {
    // A first-order low-pass at 0.5 Hz without the exponential, because this runs for every scan.
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

/// Validates the samples of one sensor: rejects and counts samples that cannot be measurements.
///
/// A repeated value alone is no fault, because an ideal sensor at rest repeats, too. It is doubtful if other
/// sensors keep changing. It is rejected if other sensors meanwhile observed a motion that must have changed
/// this sensor's value; the caller reports that motion with `expectChange`.
struct SensorScreen: Hashable, Sendable {
  private(set) var health = SensorHealth()
  /// The repeated value while the sensor is stuck at it; nil while it changes.
  var repeatedValue: Vector3? { repetitions >= Self.stuckCount ? lastValue : nil }
  /// True if the newest sample equals the previous one.
  var isRepeating: Bool { repetitions > 0 }
  /// Time of the last sample that differed from its predecessor.
  private(set) var lastChange: Timestamp?
  /// True if the sensor's clock went back: it was set, or one stamp was far ahead by mistake. The evidence is
  /// a number of samples older than the newest stamp but in order among themselves.
  private(set) var hasTimeGoneBack = false

  /// Largest plausible length of a value, in the scan's unit.
  private let plausible: Double
  private var lastSeen: Timestamp?
  /// Value of the newest valid sample.
  private(set) var lastValue: Vector3?
  private var repetitions = 0
  private var missedChange = 0.0
  private var refusedSince: Timestamp?
  private var lastRefused: Timestamp?
  /// Number of consecutive rejected samples that are older than the newest stamp but in order among
  /// themselves.
  private var refusedInOrder = 0
  /// Typical interval between samples in s.
  private var period = 0.0
  /// Time of the last sample before the newest gap in the stamps.
  private var holeStart: Timestamp?

  /// A value is stuck if it has lasted for `stuckTime` (s) and `stuckCount` repetitions, while other sensors
  /// observed a change of direction of `stuckChange` (rad).
  private static let stuckTime = 1.0
  private static let stuckCount = 10
  private static let stuckChange = 0.6
  /// Time in s after which an unchanged value is doubtful if other sensors change.
  private static let doubtfulTime = 2.0
  /// Evidence that a clock went back: this number of samples that are older than the newest stamp but in
  /// order among themselves. Samples that would fill a gap may also be a delayed block; they must in addition
  /// span this time in s.
  private static let timeStepEvidence = (count: 5, inHole: 2.0)

  init(plausible: Double) { self.plausible = plausible }

  /// Returns whether a sample is accepted.
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
    // Rejects NaN, too, because a comparison with NaN is false.
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

  /// Updates the typical interval and the newest gap. Called for the second sample, whose interval becomes
  /// the typical one, and for unusually long intervals.
  private mutating func observeHole(_ interval: Double, after last: Timestamp) {
    if period > 0 {
      holeStart = last
      period *= 1.04
    } else {
      period = min(interval, 1)
    }
  }

  /// Evaluates a sample that is older than a previous one.
  private mutating func judgeOrder(_ timestamp: Timestamp) {
    if refusedSince == nil || lastRefused.map({ timestamp <= $0 }) ?? true {
      (refusedSince, refusedInOrder) = (timestamp, 0)
    }
    refusedInOrder += 1
    lastRefused = timestamp
    guard let refusedSince, refusedInOrder >= Self.timeStepEvidence.count else { return }
    let fillsHole = holeStart.map { refusedSince > $0 } ?? false
    hasTimeGoneBack = !fillsHole || timestamp.seconds(since: refusedSince) >= Self.timeStepEvidence.inHole
  }

  /// Reports that another sensor measured a rotation by `angle` rad, which must change the direction that
  /// this sensor measures.
  mutating func expectChange(by angle: Double) {
    if angle.isFinite { missedChange += angle }
  }

  /// Returns whether the sensor has repeated one value for more than 2 s while `first` or `second` changed.
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

  /// Resets everything that refers to earlier times; the sample counts continue.
  mutating func startAnew() {
    let health = health
    self = SensorScreen(plausible: plausible)
    self.health = health
  }
}

/// Sample statistics of a sensor: rejected samples are counted by reason.
public struct SensorHealth: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// No sample has arrived.
    case silent
    case healthy
    /// Values no longer change although other sensors show that they must. They are rejected until they
    /// change again.
    case stuck
  }

  public var state = State.silent
  /// Number of accepted samples.
  public var accepted = 0
  /// Number of accepted samples equal to their predecessor: repeated readings, or an ideal sensor at rest.
  public var repeated = 0
  /// Number of samples rejected because they are NaN or infinite.
  public var notFinite = 0
  /// Number of samples rejected because they are not later than the previous sample.
  public var outOfOrder = 0
  /// Number of samples rejected because they are beyond the range of any sensor of this kind.
  public var implausible = 0
  /// Number of samples rejected because the sensor was stuck.
  public var stuck = 0
  /// Time of the newest accepted sample.
  public var lastSample: Timestamp?

  public init() {}

  /// Number of all rejected samples.
  public var refused: Int { notFinite + outOfOrder + implausible + stuck }
}
