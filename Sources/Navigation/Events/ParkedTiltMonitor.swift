internal import Glibc
internal import Sensors
internal import Spatial

/// A monitor for a parked vehicle that is lifted, lowered or jacked up: its vertical moves away from a
/// reference.
///
/// Means of the specific force over 10 s are compared with a reference from the time of parking. Wind rocks
/// the vehicle for seconds, so the mean of three blocks must exceed the limit, and each block half of it. The
/// reference follows slowly, because the accelerometer's bias drifts with the day's temperature by up to a
/// degree over hours. A rate of 1 Hz is sufficient; the mounting is not needed.
struct ParkedTiltMonitor: Sendable {
  /// The duration of a block in s.
  private static let block = 10.0
  /// The number of consecutive blocks that must have moved.
  private static let blocksNeeded = 3
  /// The minimum number of samples in a block.
  private static let leastSamples = 5
  /// Time in s between parking and the first reference, in which passengers get out and doors are closed.
  private static let settling = 60.0
  /// The time constant in s with which the reference follows. For a bias drift of 1 mg/K at 15 K per hour,
  /// the lag is 0.4°.
  private static let following = 1800.0
  /// The share of the limit that the mean must exceed. It is below 1, so that a tilt of exactly the limit is
  /// detected in spite of noise.
  private static let margin = 0.8
  /// The share of the limit that each of the three blocks must reach.
  private static let each = 0.5
  /// The share of the limit below which the vehicle has returned to its old attitude.
  private static let release = 0.4
  /// The standard deviation in degrees of the mean angle of three blocks in a gale.
  private static let deviation = 0.25
  /// The range of the mean force relative to gravity; the scale error of any accelerometer is smaller.
  private static let lengths = 0.8...1.2
  /// The time in s without samples after which the blocks restart.
  private static let longestGap = 30.0

  private let limit: Double
  private var isParked = false
  private var parkedAt: Timestamp?
  private var sum = Vector3.zero
  private var count = 0
  private var blockStart: Timestamp?
  private var newest: Timestamp?
  /// The reference force in the device frame, m/s².
  private var reference: Vector3?
  /// The mean forces (m/s²) of the last consecutive blocks that have moved.
  private var moved: [Vector3] = []
  /// The start of the first of the blocks in `moved`; nil if there is none.
  private var movedSince: Timestamp?
  /// The number of consecutive blocks in the old attitude.
  private var returned = 0
  private var event: DrivingEvent?
  private(set) var place: Coordinate?

  init(limit: Double) { self.limit = limit }

  /// Updates whether the vehicle is parked: at rest with the ignition off. A state that is unavailable is not
  /// required.
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

  /// Processes a specific force (m/s², device frame), at any rate from 0.5 Hz.
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

  /// Waits for the end of a tilt, which is that the vehicle is set down again or drives off. The reference is
  /// constant meanwhile.
  private mutating func watchReturn(_ angle: Double, from start: Timestamp) -> DrivingEvent? {
    let peak = max(event?.peak ?? 0, angle)
    event?.peak = peak
    returned = angle < Self.release * limit ? returned + 1 : 0
    guard returned >= Self.blocksNeeded else { return nil }
    return end(at: start.advanced(bySeconds: -Double(Self.blocksNeeded - 1) * Self.block))
  }

  /// Returns the angle between two vectors in degrees.
  private static func angle(_ a: Vector3, _ b: Vector3) -> Double {
    atan2(a.cross(b).length, a.dot(b)).degrees
  }

  /// Ends an ongoing event, because the monitor stops.
  mutating func finish(at now: Timestamp) -> DrivingEvent? { end(at: now) }

  /// Ends an ongoing event, because the vehicle is in its old attitude or no longer parked.
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
