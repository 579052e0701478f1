public import Spatial

/// A detector of harsh braking, acceleration, cornering and swerves.
///
/// A manoeuvre starts when the one-second mean of the horizontal acceleration, along or across the vehicle,
/// reaches its limit. It ends when the mean falls below 70 % of the limit, and is reported after 2 s below
/// that value. A new excess within these 2 s belongs to the same manoeuvre. Half a second of vibration or a
/// bump does not reach the limit in this mean, and a gear change does not end a manoeuvre.
public struct ManoeuvreDetector: Sendable {
  /// The averaging time in s, which equals that of telematics units that difference the speeds of a 1 Hz
  /// receiver.
  static let window = 1.0
  /// The share of the limit below which a manoeuvre ends.
  static let hysteresis = 0.7
  /// The time in s below the threshold, after which a manoeuvre is reported.
  static let quiet = 2.0
  /// The minimum speed in m/s that the vehicle must reach during a manoeuvre: 10 km/h, which excludes
  /// parking.
  private static let slowest = 2.8
  /// The standard deviation of an acceleration in m/s² from all causes except tilt: bias, its drift and side
  /// slip.
  private static let deviation = 0.1
  /// The standard deviation in m/s² of the difference between the accelerations of two sources. It includes
  /// latencies of 0.1 s, and noise of 0.2 m/s in speeds that are 1 to 2 s apart.
  private static let disagreement = 0.4
  /// The share of a manoeuvre's acceleration that a second source must confirm.
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
    /// The time at which the mean fell below the threshold; nil while the mean is above it.
    var end: Timestamp?
    var peak: Double
    /// The acceleration at the peak measured by a second source in m/s²; nil if that is only evaluated at the
    /// end of the episode.
    var witnessed: Double?
    /// The standard deviation of the peak due to tilt, m/s².
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

  /// Processes a sample, at most 20 a second: the window of 3 s stores up to 64 samples.
  public mutating func process(_ sample: DrivingSample) -> [DrivingEvent] {
    guard sample.forward.isFinite, sample.right.isFinite, sample.speed.isFinite, sample.heading.isFinite
    else {
      return []
    }
    guard window.add(sample) else {
      // The motion during the gap is unknown, so an open manoeuvre is reported with the values observed
      // before it.
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

  /// Adds a speed (m/s) measured by wheels or a receiver.
  public mutating func observe(speed: Double, at timestamp: Timestamp) {
    guard speed.isFinite, let point = window.point(at: timestamp) else { return }
    witness.add(speed: speed, at: timestamp, along: point.along)
  }

  /// Reports an open manoeuvre, because samples have stopped or the mounting is unknown.
  public mutating func finish() -> [DrivingEvent] {
    defer {
      episodes = episodes.map { _ in nil }
      swerves.reset()
    }
    return Direction.allCases.compactMap { direction in
      episodes[direction.rawValue].flatMap { event(direction, $0) }
    }
  }

  /// Discards an open manoeuvre, because the mounting is unknown.
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

  /// Returns the events of manoeuvres that have been below the threshold for `quiet` seconds.
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

  /// Returns the event of an episode; nil if a second source contradicts the manoeuvre.
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
