public import Spatial

/// Tells harsh braking, acceleration, cornering and swerves.
///
/// A manoeuvre is one where the mean over a second of the acceleration in the plane, along or across the vehicle, reaches its limit. It is over when
/// that falls below 70 % of it, and told when 2 s have passed since: what comes up again before is the same manoeuvre. Half a second of
/// vibration or a bump has no such mean, a gear change does not end one.
public struct ManoeuvreDetector: Sendable {
  /// s of the mean, as telematics units that difference the speeds of a 1 Hz receiver have it.
  static let window = 1.0
  /// Share of the limit below which a manoeuvre is over.
  static let hysteresis = 0.7
  /// s of quiet after which it is told.
  static let quiet = 2.0
  /// m/s that the vehicle must have reached: 10 km/h. Below it, parking is meant.
  private static let slowest = 2.8
  /// m/s²: what an acceleration is wrong by beside tilt: bias, its change since it was learned, and side slip.
  private static let deviation = 0.1
  /// m/s²: by how much two sources may differ, one deviation: latencies of 0.1 s, 0.2 m/s of noise in speeds 1 to 2 s apart.
  private static let disagreement = 0.4
  /// Share that a second source must see of the manoeuvre.
  private static let leastSeen = 0.4

  private enum Direction: Int, CaseIterable {
    case back, ahead, left, right

    var isAcross: Bool { self == .left || self == .right }
    var kind: DrivingEvent.Kind {
      switch self {
      case .back: .braking
      case .ahead: .acceleration
      case .left, .right: .cornering
      }
    }
    var sign: Double { self == .back || self == .left ? -1 : 1 }
  }

  private struct Episode {
    var start: Timestamp
    /// When the mean fell below; nil while it is above.
    var end: Timestamp?
    var peak: Double
    /// m/s² by the second source at the peak; nil for what is judged at the end.
    var witnessed: Double?
    /// m/s²: one deviation of the peak by tilt.
    var deviation: Double
    var first: MotionWindow.Point?
  }

  private let limits: DrivingEventLimits
  private var window = MotionWindow()
  private var episodes = [Episode?](repeating: nil, count: Direction.allCases.count)
  private var swerves: SwerveDetector
  private var witness = SpeedWitness()

  public init(limits: DrivingEventLimits = DrivingEventLimits()) {
    self.limits = limits
    swerves = SwerveDetector(limit: limits.swerve)
  }

  /// Takes a sample, up to 20 a second. Those that come more often than the window of 3 s holds 64 are of no use.
  public mutating func process(_ sample: DrivingSample) -> [DrivingEvent] {
    guard sample.forward.isFinite, sample.right.isFinite, sample.speed.isFinite, sample.heading.isFinite
    else {
      return []
    }
    guard window.add(sample) else {
      // What happened in the gap is not known: what was open is told as far as it was seen.
      let told = finish()
      witness.reset()
      return told
    }
    guard let mean = window.mean(seconds: Self.window) else { return [] }
    for direction in Direction.allCases { follow(direction, mean) }
    let swerve = swerves.process(window)
    if let swerve {
      for direction in [Direction.left, .right]
      where (episodes[direction.rawValue]?.start.seconds(since: swerve.start)).map({ $0 > -1 }) ?? false {
        episodes[direction.rawValue] = nil
      }
    }
    return due(mean.middle) + (swerve.map { [$0] } ?? [])
  }

  /// Takes a speed (m/s) that other sensors than the inertial ones have measured, of wheels or of a receiver.
  public mutating func observe(speed: Double, at timestamp: Timestamp) {
    guard speed.isFinite, let point = window.point(at: timestamp) else { return }
    witness.add(speed: speed, at: timestamp, along: point.along)
  }

  /// Tells what is open: samples have ended, or the mounting is not known any more.
  public mutating func finish() -> [DrivingEvent] {
    defer {
      episodes = episodes.map { _ in nil }
      swerves.reset()
    }
    return Direction.allCases.compactMap { direction in
      episodes[direction.rawValue].flatMap { event(direction, $0) }
    }
  }

  /// Forgets what is open: the mounting is not known any more.
  mutating func reset() {
    window.reset()
    episodes = episodes.map { _ in nil }
    swerves.reset()
    witness.reset()
  }

  // MARK: Episodes

  private func limit(_ direction: Direction) -> Double {
    switch direction {
    case .back: limits.braking
    case .ahead: limits.acceleration
    case .left, .right: limits.cornering
    }
  }

  private mutating func follow(_ direction: Direction, _ mean: MotionWindow.Mean) {
    let limit = limit(direction)
    let value = direction.sign * (direction.isAcross ? mean.across : mean.along)
    let turned = direction.isAcross ? direction.sign * mean.turned : nil
    guard var episode = episodes[direction.rawValue] else {
      guard value >= limit, mean.speed >= Self.slowest else { return }
      episodes[direction.rawValue] = Episode(
        start: mean.middle, peak: value, witnessed: turned, deviation: window.newest?.deviation ?? 0,
        first: window.point(at: mean.middle))
      return
    }
    if value > episode.peak {
      (episode.peak, episode.witnessed) = (value, turned)
      episode.deviation = window.newest?.deviation ?? 0
    }
    if value >= limit {
      episode.end = nil
    } else if episode.end == nil, value < Self.hysteresis * limit {
      episode.end = mean.middle
    }
    episodes[direction.rawValue] = episode
  }

  /// What has been quiet for long enough.
  private mutating func due(_ now: Timestamp) -> [DrivingEvent] {
    var told: [DrivingEvent] = []
    for direction in Direction.allCases {
      guard let episode = episodes[direction.rawValue], let end = episode.end,
        now.seconds(since: end) >= Self.quiet, !(direction.isAcross && swerves.isOpen)
      else { continue }
      episodes[direction.rawValue] = nil
      if let event = event(direction, episode) { told.append(event) }
    }
    return told.sorted { $0.start < $1.start }
  }

  /// Nil where a second source contradicts it.
  private func event(_ direction: Direction, _ episode: Episode) -> DrivingEvent? {
    let end = episode.end ?? window.newest?.timestamp ?? episode.start
    let limit = limit(direction)
    let deviation = (Self.deviation * Self.deviation + episode.deviation * episode.deviation).squareRoot()
    var certainty = chance(episode.peak - limit, deviation: deviation)
    let agreement: (seen: Double, expected: Double)? =
      if let turned = episode.witnessed {
        (turned, episode.peak)
      } else {
        witness.change(from: episode.start, to: end).map {
          (direction.sign * $0.seen, direction.sign * $0.expected)
        }
      }
    if let (seen, expected) = agreement {
      let difference = abs(seen - expected)
      if seen < Self.leastSeen * expected, difference > 2 * Self.disagreement { return nil }
      let ratio = difference / Self.disagreement
      certainty *= 0.5 + 0.5 / (1 + 0.5 * ratio * ratio)
    } else {
      certainty *= 0.8
    }
    return DrivingEvent(
      direction.kind, start: episode.start, duration: max(0, end.seconds(since: episode.start)),
      peak: episode.peak, limit: limit, severity: DrivingEvent.Severity(ratio: episode.peak / limit),
      confidence: certainty, coordinate: episode.first?.coordinate, speed: episode.first?.speed)
  }
}
