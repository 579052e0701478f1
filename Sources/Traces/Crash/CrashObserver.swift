internal import Glibc
public import Sensors
public import Spatial

/// What is told of a crash before its trace.
public struct CrashSummary: Hashable, Sendable {
  public var pulse: CrashPulse
  /// m/s: the newest speed before the blow; nil where none was known in the ten seconds before.
  public var speedBefore: Double?
  /// Degrees: the largest angle so far between up of the vehicle and up of before the blow.
  public var largestTilt: Double
  /// Whether it lay on its side or roof for half a second.
  public var hasRolledOver: Bool
  /// Where the vehicle came to rest; nil while it is not known.
  public var restPosition: Coordinate?
  /// When that was; nil while it moves, or nothing tells.
  public var restTime: Timestamp?
}

/// Makes summaries: at the end of a pulse at once, and once more when the vehicle has come to rest, or half a minute later.
///
/// A value type; positions and speeds come as they are known, scans at the sensor's rate. Blows that follow within half a minute are of the
/// same crash: the harder one is told of, and the speed is that before the first.
public struct CrashObserver: Sendable {
  private var detector: CrashDetector
  private var summary: CrashSummary?
  /// What is said after the start of a blow may be of it.
  private var earlier: [(value: Double, at: Timestamp)] = []
  private var place: (coordinate: Coordinate, at: Timestamp)?
  private var upBefore: Vector3?
  private var tiltedSince: Timestamp?
  private var stillSince: Timestamp?

  /// s for which a speed is one before a blow, and speeds that are remembered.
  private static let (speedAge, mostSpeeds) = (10.0, 64)
  /// Degrees from which on a vehicle lies on its side, as roads reach 30 at most, and s for which it does.
  private static let (rollOver, rollOverTime) = (60.0, 0.5)
  /// m/s below which it is at rest, and s for which it is.
  private static let (rest, restTime) = (0.5, 3.0)
  /// s after which the summary is closed.
  private static let longest = 30.0

  public init(settings: CrashDetector.Settings = .init()) { detector = CrashDetector(settings: settings) }

  /// Whether there was a blow of which the last word is not said.
  public var isFollowing: Bool { summary != nil }

  /// Takes what is known of the vehicle's place and speed.
  /// - Parameters:
  ///   - value: m/s; nil where it is not known.
  ///   - coordinate: nil where it is not known.
  public mutating func observe(speed value: Double?, coordinate: Coordinate?, at now: Timestamp) {
    if let coordinate, coordinate.isValid { place = (coordinate, now) }
    guard let value, value.isFinite, value >= 0 else { return }
    if earlier.count == Self.mostSpeeds { earlier.removeFirst() }
    earlier.append((value, now))
    stillSince = value < Self.rest ? stillSince ?? now : nil
  }

  /// Takes a scan.
  /// - Parameter mounting: from the device frame to right, forward, up of the vehicle; nil where it is not known.
  /// - Returns: a summary that is new or has become whole.
  public mutating func process(_ scan: InertialScan, mounting: Quaternion?) -> CrashSummary? {
    let now = scan.timestamp
    let pulse = detector.process(scan, mounting: mounting, speed: before(now))
    follow(at: now)
    guard let pulse else { return closed(at: now) }
    return take(pulse)
  }

  /// Learns where the accelerometer ends: m/s² of an axis; nil where that is not known.
  public mutating func observe(range: Double?) { detector.observe(range: range) }

  /// Ends a blow that is under way, where nothing follows any more.
  /// - Returns: a summary that is new or says more, where it is a crash already.
  public mutating func finish(mounting: Quaternion?) -> CrashSummary? {
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

  /// The newest speed that was said before a moment.
  private func before(_ moment: Timestamp) -> Double? {
    guard let said = earlier.last(where: { $0.at <= moment }), moment.seconds(since: said.at) <= Self.speedAge
    else { return nil }
    return said.value
  }

  private mutating func follow(at now: Timestamp) {
    guard let up = detector.attitude.map({ $0.conjugate.rotate(Vector3(0, 0, 1)) }) else { return }
    guard var summary else {
      // Slowly, so that it is that of before a blow.
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
