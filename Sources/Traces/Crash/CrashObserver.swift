internal import Glibc
package import Sensors
package import Spatial

/// A summary of a crash, published before its trace.
package struct CrashSummary: Hashable, Sendable {
  package var pulse: CrashPulse
  /// The last speed before the impact in m/s; nil if no speed was reported in the ten seconds before.
  package var speedBefore: Double?
  /// The largest angle so far in degrees between the vehicle's up axis and the direction of that axis before
  /// the impact.
  package var largestTilt: Double
  /// True if the vehicle lay on its side or roof for half a second.
  package var hasRolledOver: Bool
  /// The position at which the vehicle came to rest; nil while unknown.
  package var restPosition: Coordinate?
  /// The time at which the vehicle came to rest; nil while it moves, or if no speed is available.
  package var restTime: Timestamp?
}

/// An observer that summarizes crashes. It returns a summary at the end of a pulse, and a final summary when
/// the vehicle has come to rest, or after 30 s.
///
/// A value type. Positions and speeds are observed as they arrive, scans at the sensor's rate. Impacts within
/// 30 s belong to the same crash: the summary contains the hardest pulse and the speed before the first
/// impact.
package struct CrashObserver: Sendable {
  private var detector: CrashDetector
  private var summary: CrashSummary?
  /// Recent speeds in m/s with their times. A speed reported after the start of an impact may be affected by
  /// the impact and is not used.
  private var earlier: [(value: Double, at: Timestamp)] = []
  private var place: (coordinate: Coordinate, at: Timestamp)?
  private var upBefore: Vector3?
  private var tiltedSince: Timestamp?
  private var stillSince: Timestamp?

  /// The maximum age in s of a speed that counts as the speed before an impact, and the maximum number of
  /// stored speeds.
  private static let (speedAge, mostSpeeds) = (10.0, 64)
  /// The tilt in degrees above which a vehicle lies on its side, and its minimum duration in s. Roads tilt a
  /// vehicle by 30° at most.
  private static let (rollOver, rollOverTime) = (60.0, 0.5)
  /// The speed in m/s below which the vehicle counts as at rest, and the minimum duration of such a speed in
  /// s.
  private static let (rest, restTime) = (0.5, 3.0)
  /// The time in s after an impact, after which the summary is final.
  private static let longest = 30.0

  package init(settings: CrashDetector.Settings = .init()) { detector = CrashDetector(settings: settings) }

  /// True between an impact and its final summary.
  package var isFollowing: Bool { summary != nil }

  /// Updates speed and position of the vehicle.
  /// - Parameters:
  ///   - value: the speed in m/s; nil if unknown.
  ///   - coordinate: nil if unknown.
  package mutating func observe(speed value: Double?, coordinate: Coordinate?, at now: Timestamp) {
    if let coordinate, coordinate.isValid { place = (coordinate, now) }
    guard let value, value.isFinite, value >= 0 else { return }
    if earlier.count == Self.mostSpeeds { earlier.removeFirst() }
    earlier.append((value, now))
    stillSince = value < Self.rest ? stillSince ?? now : nil
  }

  /// Processes a scan.
  /// - Parameter mounting: the rotation from the device to the vehicle frame (right, forward, up); nil if
  ///   unknown.
  /// - Returns: a new or a final summary; nil if nothing changed.
  package mutating func process(_ scan: InertialScan, mounting: Quaternion?) -> CrashSummary? {
    let now = scan.timestamp
    let pulse = detector.process(scan, mounting: mounting, speed: before(now))
    follow(at: now)
    guard let pulse else { return closed(at: now) }
    return take(pulse)
  }

  /// Sets the range of the accelerometer: the largest value of an axis in m/s²; nil if unknown.
  package mutating func observe(range: Double?) { detector.observe(range: range) }

  /// Ends an active pulse. Call it if no further samples follow.
  /// - Returns: a new or updated summary, if the pulse already meets the criterion of a crash.
  package mutating func finish(mounting: Quaternion?) -> CrashSummary? {
    detector.finish(mounting: mounting).flatMap { take($0) }
  }

  private mutating func take(_ pulse: CrashPulse) -> CrashSummary? {
    guard var known = summary else {
      summary = CrashSummary(
        pulse: pulse, speedBefore: before(pulse.start), largestTilt: 0, hasRolledOver: false)
      stillSince = nil
      return summary
    }
    guard pulse.speedChange > known.pulse.speedChange else { return nil }
    known.pulse = pulse
    summary = known
    return known
  }

  /// Returns the last speed in m/s reported before a time; nil if it is too old or missing.
  private func before(_ moment: Timestamp) -> Double? {
    guard let sample = earlier.last(where: { $0.at <= moment }),
      moment.seconds(since: sample.at) <= Self.speedAge
    else { return nil }
    return sample.value
  }

  private mutating func follow(at now: Timestamp) {
    guard let up = detector.attitude.map({ $0.conjugate.rotate(Vector3(0, 0, 1)) }) else { return }
    guard var summary else {
      // The filter is slow, so that an impact does not change the reference.
      upBefore = upBefore.map { $0 + (up - $0) * 0.001 } ?? up
      return
    }
    guard let before = upBefore?.normalized else { return }
    let tilt = acos(max(-1, min(1, up.dot(before)))).degrees
    summary.largestTilt = max(summary.largestTilt, tilt)
    tiltedSince = tilt > Self.rollOver ? tiltedSince ?? now : nil
    if let since = tiltedSince, now.seconds(since: since) >= Self.rollOverTime {
      summary.hasRolledOver = true
    }
    self.summary = summary
  }

  private mutating func closed(at now: Timestamp) -> CrashSummary? {
    guard var summary else { return nil }
    let start = summary.pulse.start
    let isAtRest = stillSince.map { now.seconds(since: $0) >= Self.restTime } ?? false
    guard isAtRest || now.seconds(since: start) >= Self.longest else { return nil }
    if isAtRest { summary.restTime = stillSince }
    if let place, place.at > summary.pulse.end { summary.restPosition = place.coordinate }
    (self.summary, upBefore, tiltedSince, stillSince) = (nil, nil, nil, nil)
    return summary
  }
}
