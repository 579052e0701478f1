internal import Glibc
internal import Sensors
internal import Spatial

/// Tells when a parked vehicle is lifted, lowered or jacked up: its vertical moves away from where it was.
///
/// Means of the force over 10 s are compared with a reference that was taken when it was parked. Wind pushes it to and fro for seconds
/// at a time, so the mean of three must have moved, and each of them by half of it. The reference follows slowly, as an accelerometer's zero moves with the
/// temperature of a day, by up to a degree, which takes hours. A rate of 1 Hz is enough; the mounting need not be known.
struct ParkedTiltMonitor: Sendable {
  /// s of a mean, and how many together must have moved.
  private static let block = 10.0
  private static let blocksNeeded = 3
  /// Samples that a mean needs.
  private static let leastSamples = 5
  /// s of a first reference: people get out, and doors are shut.
  private static let settling = 60.0
  /// s over which the reference follows: 1 mg/K at 15 K in an hour leave it 0.4° behind.
  private static let following = 1800.0
  /// Share of the limit that is enough: what was turned by the limit itself is to be found in spite of the noise.
  private static let margin = 0.8
  /// Share of the limit that each of the three must have.
  private static let each = 0.5
  /// Share of the limit below which it lies again as it did.
  private static let release = 0.4
  /// Degrees, one deviation, of the mean of three blocks in a gale.
  private static let deviation = 0.25
  /// Share by which the force may be longer or shorter than gravity in a mean: no accelerometer is worse.
  private static let lengths = 0.8...1.2
  /// s without samples after which means begin anew.
  private static let longestGap = 30.0

  private let limit: Double
  private var isParked = false
  private var parkedAt: Timestamp?
  private var sum = Vector3.zero
  private var count = 0
  private var blockStart: Timestamp?
  private var newest: Timestamp?
  /// m/s², device frame.
  private var reference: Vector3?
  /// m/s²: of the newest blocks in a row that have moved, and when the first of them began.
  private var moved: [Vector3] = []
  private var movedSince: Timestamp?
  /// Blocks in a row that lie as before.
  private var returned = 0
  private var event: DrivingEvent?
  private(set) var place: Coordinate?

  init(limit: Double) { self.limit = limit }

  /// Learns whether the vehicle is parked: it stands and its ignition is off, as far as anybody knows.
  mutating func observe(isParked: Bool, coordinate: Coordinate?, at now: Timestamp) -> DrivingEvent? {
    if let coordinate { place = coordinate }
    guard isParked != self.isParked else { return nil }
    self.isParked = isParked
    parkedAt = isParked ? now : nil
    (reference, moved, movedSince, returned) = (nil, [], nil, 0)
    restart()
    return end(at: now)
  }

  private mutating func restart() { (sum, count, blockStart) = (.zero, 0, nil) }

  /// Takes a force (m/s², device frame) at any rate from 0.5 Hz on.
  mutating func process(force: Vector3, at now: Timestamp) -> DrivingEvent? {
    guard isParked, force.isFinite else { return nil }
    if let newest, case let step = now.seconds(since: newest), step < 0 || step > Self.longestGap {
      restart()
    }
    newest = now
    sum += force
    count += 1
    guard let blockStart else {
      blockStart = now
      return nil
    }
    let length = now.seconds(since: blockStart)
    guard length >= (reference == nil ? Self.settling : Self.block), count >= Self.leastSamples else {
      return nil
    }
    let mean = sum / Double(count)
    restart()
    return judge(mean, from: blockStart, seconds: length, at: now)
  }

  private mutating func judge(
    _ mean: Vector3, from start: Timestamp, seconds: Double, at now: Timestamp
  ) -> DrivingEvent? {
    guard Self.lengths.contains(mean.length / standardGravity) else { return nil }
    guard var reference else {
      self.reference = mean
      return nil
    }
    let angle = Self.angle(reference, mean)
    guard event == nil else { return watchReturn(angle, from: start) }
    if angle < Self.margin * limit {
      reference += min(1, seconds / Self.following) * (mean - reference)
      self.reference = reference
    }
    guard angle >= Self.each * limit else {
      (moved, movedSince) = ([], nil)
      return nil
    }
    if moved.isEmpty { movedSince = start }
    moved.append(mean)
    if moved.count > Self.blocksNeeded {
      moved.removeFirst()
      movedSince = movedSince?.advanced(bySeconds: seconds)
    }
    guard moved.count == Self.blocksNeeded, let since = movedSince else { return nil }
    let average = Self.angle(reference, moved.reduce(.zero, +))
    guard average >= Self.margin * limit else { return nil }
    let peak = moved.map { Self.angle(reference, $0) }.max() ?? angle
    let begun = DrivingEvent(
      .tilt, start: since, duration: now.seconds(since: since), peak: peak, limit: limit,
      severity: DrivingEvent.Severity(ratio: peak / (2 * limit)),
      confidence: chance(average - Self.margin * limit, deviation: Self.deviation), coordinate: place,
      speed: 0, isOngoing: true)
    event = begun
    return begun
  }

  /// While it is tilted the reference waits: it is set down again, or driven off.
  private mutating func watchReturn(_ angle: Double, from start: Timestamp) -> DrivingEvent? {
    let peak = max(event?.peak ?? 0, angle)
    event?.peak = peak
    returned = angle < Self.release * limit ? returned + 1 : 0
    guard returned >= Self.blocksNeeded else { return nil }
    return end(at: start.advanced(bySeconds: -Double(Self.blocksNeeded - 1) * Self.block))
  }

  /// Degrees.
  private static func angle(_ a: Vector3, _ b: Vector3) -> Double {
    atan2(a.cross(b).length, a.dot(b)).degrees
  }

  /// Ends what goes on, as nobody looks any longer.
  mutating func finish(at now: Timestamp) -> DrivingEvent? { end(at: now) }

  /// Ends what goes on: it lies as before, or is parked no more.
  private mutating func end(at time: Timestamp) -> DrivingEvent? {
    (moved, movedSince, returned) = ([], nil, 0)
    guard var over = event else { return nil }
    event = nil
    over.isOngoing = false
    over.duration = max(0, time.seconds(since: over.start))
    over.severity = DrivingEvent.Severity(ratio: over.peak / (2 * limit))
    return over
  }
}
