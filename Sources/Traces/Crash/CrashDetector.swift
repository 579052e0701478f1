internal import Glibc
package import Sensors
package import Spatial

/// A crash detector for accelerometer data. The criterion is that of event data recorders (49 CFR 563.5): a
/// change of velocity in the horizontal plane of 8 km/h within 150 ms. Full braking changes the velocity by 6
/// km/h in that time.
///
/// - Potholes, kerbs and speed bumps act vertically, and their longitudinal part ends within 20 ms.
/// - Impacts on the device are short: 50 g for 3 ms are 3 km/h, which the rebound cancels.
/// - A device that is dropped is in free fall before its impact. While the vehicle is moving, free fall is
///   not regarded as a drop.
///
/// During a pulse the gyroscope, if there is one, tracks the vertical. Outside of pulses the accelerometer
/// slowly corrects it. Processing a sample allocates no memory in steady state.
package struct CrashDetector: Sendable {
  package struct Settings: Hashable, Sendable {
    /// The horizontal change of velocity within 150 ms from which an impact is a crash, m/s.
    package var changeOfVelocity = 8 / 3.6

    package init() {}
  }

  private struct Pulse {
    var start: Timestamp
    var velocity: Vector3
    /// The rotation from the level frame to the device frame at the start of the pulse.
    var attitude: Quaternion
    var largest = Vector3.zero
    var trigger = 0.0
    var peak = 0.0
    var isClipped = false
    let isDropped: Bool
  }

  private let settings: Settings
  private var limit = Double.infinity
  private var level = VerticalFilter()
  private var course = VelocityCourse()
  private var pulse: Pulse?
  private var last: Timestamp?
  private var lastRate = Vector3.zero
  private var lastAcceleration = Vector3.zero
  private var weightlessSince: Timestamp?
  private var fell: Timestamp?

  /// The window in s (`moment`), and the horizontal change of velocity within it in m/s (`movement`), at
  /// which an event starts and ends (49 CFR 563.5).
  private static let (moment, movement) = (0.020, 0.8 / 3.6)
  /// The windows in s for the change of velocity that decides about a crash, and for the peak acceleration.
  private static let (triggerTime, peakTime) = (0.150, 0.010)
  /// The maximum duration of a pulse in s. Pulses of vehicles last 50 to 120 ms, or up to 250 ms against soft
  /// objects.
  private static let longest = 0.300
  /// The interval between two samples (s) above which integration restarts.
  private static let gap = 0.100
  /// A value in m/s² or rad/s that is implausible for any sensor in a vehicle: 1000 g.
  private static let absurd = 1e4
  /// Criteria for a dropped device: maximum specific force in m/s² during the fall, minimum duration of the
  /// fall in s (0.08 s are 3 cm), and maximum time between fall and impact in s.
  private static let (weightless, fall, strike) = (3.0, 0.08, 0.3)
  /// The speed in m/s above which free fall is not regarded as a drop.
  private static let moving = 3.0
  /// The share of the measurement range above which a sensor is saturated. Saturated samples of one make of
  /// sensor differ by 0.2 %.
  private static let limitShare = 0.997

  package init(settings: Settings = Settings()) { self.settings = settings }

  /// Sets the measurement range of the accelerometer.
  /// - Parameter range: the largest value of an axis in m/s²; nil if unknown, in which case no pulse is
  ///   reported as clipped.
  package mutating func observe(range: Double?) {
    limit = range.flatMap { $0.isFinite && $0 > 0 ? $0 * Self.limitShare : nil } ?? .infinity
  }

  /// The rotation from the device frame to a level frame: right, forward (any direction) and up; nil before
  /// the first samples.
  package var attitude: Quaternion? { level.attitude }

  /// Processes a scan. Ignores scans that are not finite or not later than the previous one.
  /// - Parameters:
  ///   - mounting: the rotation from the device to the vehicle frame (right, forward, up); nil if unknown.
  ///   - speed: the vehicle's speed before the scan in m/s; nil if unknown.
  /// - Returns: a crash, when its pulse has ended.
  package mutating func process(_ scan: InertialScan, mounting: Quaternion?, speed: Double?) -> CrashPulse? {
    if let rate = scan.rotationRate, rate.length < Self.absurd { lastRate = rate }
    guard let force = scan.specificForce, force.length < Self.absurd else { return nil }
    guard let last else {
      self.last = scan.timestamp
      level.process(force, rate: lastRate, seconds: 0, corrects: true)
      return nil
    }
    let step = scan.timestamp.seconds(since: last)
    // A clock that was set back restarts the detector, in the same way as a gap in the samples.
    guard step > 0 || step < -Self.gap else { return nil }
    self.last = scan.timestamp
    guard (0...Self.gap).contains(step) else {
      (pulse, weightlessSince, fell, lastAcceleration) = (nil, nil, nil, .zero)
      course.removeAll()
      level = VerticalFilter()
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
    // Only the time since the start of the pulse is evaluated. Noise at the end of a pulse can start another
    // pulse, which must not count as a second crash.
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

  /// Ends an active pulse. Call it if no further samples follow.
  /// - Parameter mounting: the same as in `process`.
  /// - Returns: a crash, if the pulse already meets the criterion.
  package mutating func finish(mounting: Quaternion?) -> CrashPulse? {
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

/// A complementary filter for the vertical: the gyroscope rotates it, and the accelerometer corrects it
/// within seconds.
struct VerticalFilter: Sendable {
  /// The rotation from the device frame to a level frame with an arbitrary heading; nil before the first
  /// samples.
  private(set) var attitude: Quaternion?

  /// The time constant of the correction of tilt in s: long compared to a bend, short compared to the drift
  /// of cheap gyroscopes.
  private static let time = 5.0
  /// The largest difference in m/s² between the magnitude of the specific force and gravity, up to which the
  /// accelerometer corrects the tilt.
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

/// The integrated velocity at the times of the last 160 ms, with at most one point every 0.75 ms.
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

  /// Returns the change of velocity since the last point that is at least `seconds` old, or since the first
  /// point.
  func change(within seconds: Double) -> (velocity: Vector3, since: Timestamp) {
    guard count > 0 else { return (.zero, Timestamp(nanoseconds: 0)) }
    let newest = points[(first + count - 1) % points.count].at
    let limit = newest.nanoseconds &- Int64(seconds * 1e9)
    // Binary search for the last point that is old enough; the times are ascending.
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
