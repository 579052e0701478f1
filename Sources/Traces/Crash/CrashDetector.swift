internal import Glibc
public import Sensors
public import Spatial

/// Finds crashes in what an accelerometer measures, by the change of velocity in the plane as event data recorders do (49 CFR 563.5): 8 km/h
/// within 150 ms. Full braking has 6 km/h in that time.
///
/// - Potholes, kerbs and speed bumps are vertical, and what they do along the road ends in 20 ms.
/// - Knocks on the device are short: 50 g for 3 ms are 3 km/h, and the rebound takes them back.
/// - A device that falls is weightless before it strikes. That of a vehicle that is on its way is not taken for a fall.
///
/// What is vertical is followed by the gyroscope through the pulse, where there is one; slowly, and outside of pulses, the accelerometer corrects
/// it. In steady state a sample allocates nothing.
public struct CrashDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// m/s within 150 ms that make a crash.
    public var changeOfVelocity = 8 / 3.6

    public init() {}
  }

  private struct Pulse {
    var start: Timestamp
    var velocity: Vector3
    /// From level to the device when it began.
    var attitude: Quaternion
    var largest = Vector3.zero
    var trigger = 0.0
    var peak = 0.0
    var isClipped = false
    let isDropped: Bool
  }

  private let settings: Settings
  private var limit = Double.infinity
  private var level = LevelKeeper()
  private var course = VelocityCourse()
  private var pulse: Pulse?
  private var last: Timestamp?
  private var lastRate = Vector3.zero
  private var lastAcceleration = Vector3.zero
  private var weightlessSince: Timestamp?
  private var fell: Timestamp?

  /// s, and m/s within them in the plane, of 49 CFR 563.5: where an event begins and ends; s of the trigger and of the peak.
  private static let (moment, movement) = (0.020, 0.8 / 3.6)
  private static let (triggerTime, peakTime) = (0.150, 0.010)
  /// s of a pulse at most: those of vehicles last 50 to 120 ms, against soft things up to 250.
  private static let longest = 0.300
  /// s between two samples beyond which nothing is added up.
  private static let gap = 0.100
  /// m/s² and rad/s that no sensor in a vehicle measures: 1000 g.
  private static let absurd = 1e4
  /// m/s² that a thing that falls measures at most, s that it falls at least (3 cm), and s after that in which it strikes.
  private static let (weightless, fall, strike) = (3.0, 0.08, 0.3)
  /// m/s from which on a vehicle is on its way.
  private static let moving = 3.0
  /// The share of its range from which on a sensor is at its limit: samples there differ by 0.2 % with one make.
  private static let limitShare = 0.997

  public init(settings: Settings = Settings()) { self.settings = settings }

  /// Learns where the sensor ends.
  /// - Parameter range: m/s², the largest value that an axis can have; nil where that is not known, so that no pulse is told to be clipped.
  public mutating func observe(range: Double?) {
    limit = range.flatMap { $0.isFinite && $0 > 0 ? $0 * Self.limitShare : nil } ?? .infinity
  }

  /// From the device frame to right, forward (any direction) and up of the level; nil before the first samples.
  public var attitude: Quaternion? { level.attitude }

  /// Takes a scan. Those that are not finite or not later than the last are ignored.
  /// - Parameters:
  ///   - mounting: from the device frame to right, forward, up of the vehicle; nil where it is not known.
  ///   - speed: m/s, of the vehicle before; nil where it is not known.
  /// - Returns: a crash, when its pulse is over.
  public mutating func process(_ scan: InertialScan, mounting: Quaternion?, speed: Double?) -> CrashPulse? {
    if let rate = scan.rotationRate, rate.length < Self.absurd { lastRate = rate }
    guard let force = scan.specificForce, force.length < Self.absurd else { return nil }
    guard let last else {
      self.last = scan.timestamp
      level.process(force, rate: lastRate, seconds: 0, corrects: true)
      return nil
    }
    let step = scan.timestamp.seconds(since: last)
    // A clock that was set back begins anew, as a gap does.
    guard step > 0 || step < -Self.gap else { return nil }
    self.last = scan.timestamp
    guard (0...Self.gap).contains(step) else {
      (pulse, weightlessSince, fell, lastAcceleration) = (nil, nil, nil, .zero)
      course.removeAll()
      level = LevelKeeper()
      level.process(force, rate: lastRate, seconds: 0, corrects: true)
      return nil
    }
    level.process(force, rate: lastRate, seconds: step, corrects: pulse == nil)
    note(force, at: scan.timestamp)
    guard let attitude = level.attitude else { return nil }
    let acceleration = attitude.rotate(force) - Vector3(0, 0, standardGravity)
    course.append((acceleration + lastAcceleration) / 2 * step, at: scan.timestamp)
    lastAcceleration = acceleration
    return judge(scan.timestamp, force, attitude, mounting, speed)
  }

  private mutating func note(_ force: Vector3, at now: Timestamp) {
    guard force.length < Self.weightless else {
      weightlessSince = nil
      return
    }
    let since = weightlessSince ?? now
    weightlessSince = since
    if now.seconds(since: since) >= Self.fall { fell = now }
  }

  private mutating func judge(
    _ now: Timestamp, _ force: Vector3, _ attitude: Quaternion, _ mounting: Quaternion?, _ speed: Double?
  ) -> CrashPulse? {
    let change = course.change(within: Self.moment)
    guard var pulse else {
      guard Self.plane(change.velocity) > Self.movement else { return nil }
      let hasFallen = fell.map { now.seconds(since: $0) <= Self.strike } ?? false
      pulse = Pulse(
        start: change.since, velocity: course.velocity - change.velocity, attitude: attitude.conjugate,
        isDropped: hasFallen && speed ?? 0 < Self.moving)
      return nil
    }
    let velocity = course.velocity - pulse.velocity
    if Self.plane(velocity) > Self.plane(pulse.largest) { pulse.largest = velocity }
    // Not what came before: noise at the end of a pulse begins another, which is no second crash.
    let triggerTime = min(Self.triggerTime, now.seconds(since: pulse.start))
    pulse.trigger = max(pulse.trigger, Self.plane(course.change(within: triggerTime).velocity))
    let short = course.change(within: Self.peakTime)
    let time = now.seconds(since: short.since)
    if time > 0 { pulse.peak = max(pulse.peak, Self.plane(short.velocity) / time) }
    if max(abs(force.x), abs(force.y), abs(force.z)) >= limit { pulse.isClipped = true }
    guard Self.plane(change.velocity) <= Self.movement || now.seconds(since: pulse.start) > Self.longest
    else {
      self.pulse = pulse
      return nil
    }
    self.pulse = nil
    return crash(pulse, at: now, mounting)
  }

  /// Ends a pulse that is under way, where nothing follows any more.
  /// - Parameter mounting: as in `process`.
  /// - Returns: a crash, where it is one already.
  public mutating func finish(mounting: Quaternion?) -> CrashPulse? {
    guard let pulse, let last else { return nil }
    self.pulse = nil
    return crash(pulse, at: last, mounting)
  }

  private func crash(_ pulse: Pulse, at now: Timestamp, _ mounting: Quaternion?) -> CrashPulse? {
    guard pulse.trigger >= settings.changeOfVelocity, !pulse.isDropped else { return nil }
    let inDevice = pulse.attitude.rotate(pulse.largest)
    return CrashPulse(
      start: pulse.start, end: now, changeOfVelocity: mounting?.rotate(inDevice) ?? inDevice,
      trigger: pulse.trigger, peak: pulse.peak, isClipped: pulse.isClipped, isInVehicleFrame: mounting != nil,
      speedChange: Self.plane(pulse.largest))
  }

  private static func plane(_ velocity: Vector3) -> Double { hypot(velocity.x, velocity.y) }
}

/// Where up is, by a complementary filter: the gyroscope turns it, the accelerometer draws it back within seconds.
struct LevelKeeper: Sendable {
  /// From the device frame to level; the heading is any.
  private(set) var attitude: Quaternion?

  /// s in which a tilt that is wrong is corrected by two thirds: long against a bend, short against the drift of cheap gyroscopes.
  private static let time = 5.0
  /// m/s²: what a force may be off gravity while it tells where up is.
  private static let slack = 2.0

  mutating func process(_ force: Vector3, rate: Vector3, seconds: Double, corrects: Bool) {
    guard let before = attitude else {
      if force.length > standardGravity / 2 { attitude = .shortest(from: force, to: Vector3(0, 0, 1)) }
      return
    }
    var now = before * Quaternion(rotationVector: rate * seconds)
    if corrects, abs(force.length - standardGravity) < Self.slack, let up = now.rotate(force).normalized {
      let error = up.cross(Vector3(0, 0, 1))
      now = Quaternion(rotationVector: error * min(1, seconds / Self.time)) * now
    }
    attitude = now.normalized
  }
}

/// The velocity of the last 160 ms, at up to one point each 0.75 ms.
struct VelocityCourse: Sendable {
  private(set) var velocity = Vector3.zero
  private var points = [(at: Timestamp, velocity: Vector3)](
    repeating: (Timestamp(nanoseconds: 0), .zero), count: 256)
  private var (first, count) = (0, 0)
  private static let spacing: Int64 = 750_000

  mutating func removeAll() { (velocity, first, count) = (.zero, 0, 0) }

  mutating func append(_ change: Vector3, at now: Timestamp) {
    velocity += change
    let newest = count == 0 ? nil : points[(first + count - 1) % points.count].at
    if let newest, now.nanoseconds &- newest.nanoseconds < Self.spacing { return }
    if count == points.count { (first, count) = ((first + 1) % points.count, count - 1) }
    points[(first + count) % points.count] = (now, velocity)
    count += 1
  }

  /// How the velocity has changed since the last point that is so many seconds ago, or the first one.
  func change(within seconds: Double) -> (velocity: Vector3, since: Timestamp) {
    guard count > 0 else { return (.zero, Timestamp(nanoseconds: 0)) }
    let newest = points[(first + count - 1) % points.count].at
    let limit = newest.nanoseconds &- Int64(seconds * 1e9)
    // By halves: times grow.
    var (low, high) = (0, count - 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if points[(first + middle) % points.count].at.nanoseconds <= limit {
        low = middle
      } else {
        high = middle - 1
      }
    }
    let point = points[(first + low) % points.count]
    return (velocity - point.velocity, point.at)
  }
}
