internal import Glibc
public import Spatial

/// An impact: side, strength and time.
public struct Impact: Hashable, Sendable {
  /// The side of the device (or vehicle) that was struck.
  public enum Side: String, Hashable, Sendable, CaseIterable {
    case front, rear, left, right, top, bottom

    /// The side that faces along a device axis most.
    init(direction: Vector3) {
      let (x, y, z) = (abs(direction.x), abs(direction.y), abs(direction.z))
      if y >= x, y >= z {
        self = direction.y > 0 ? .front : .rear
      } else if x >= z {
        self = direction.x > 0 ? .right : .left
      } else {
        self = direction.z > 0 ? .top : .bottom
      }
    }
  }

  /// Start of the impact.
  public var timestamp: Timestamp
  public var side: Side
  /// g, the largest user acceleration of the impact, without its rebound.
  public var peak: Double
  /// Device frame, length one: towards the origin of the impact.
  public var direction: Vector3
}

/// Detects impacts and reports each once, however long it rings.
///
/// User acceleration has Core Motion's sign, that of loose things inside: a vehicle that is struck in front is slowed, so everything
/// in it moves to the front, and the reading is (0, +, 0). The struck side is therefore the side to which the pulse points.
///
/// The rules:
/// 1. A pulse starts at the threshold. It is reported when it falls below half of its peak, reverses, or has lasted
///    `pulseDuration`. Its side is the direction of its change of velocity.
/// 2. What follows a pulse along its line is its rebound and ringing, and is not reported, unless it is more than one and a half
///    times as hard. A harder pulse is an impact of its own: no impact rebounds harder than it struck.
/// 3. A harder pulse from across is an impact of its own. If the first pulse is not over, it replaces it.
/// 4. An acceleration that stays for twice `pulseDuration` is a push, such as a strong start-off. It does not rebound, so what
///    follows it is judged on its own, in every direction. A push that is under way is subtracted from the impact, until the
///    reading falls below half of it. A push that starts at the threshold or above is reported first, as an impact.
public struct ImpactDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// g that makes an impact. Full braking stays below 1.2 g, potholes are short and seldom above 2 g at the body.
    public var threshold = 2.5
    /// Seconds that the first pulse is followed at most: crash pulses of vehicles last 50 to 120 ms.
    public var pulseDuration = 0.12
    /// Seconds below half of the threshold after which the event is over and another can be reported.
    public var quietTime = 0.3
    /// The sides of which blows are told.
    public var sides = Set(Impact.Side.allCases)

    public init() {}
  }

  /// The first pulse of a blow.
  private struct Pulse {
    var start: Timestamp
    /// Where it began to point, length one.
    var direction: Vector3
    /// The acceleration added up: its direction is that of the change of speed.
    var sum: Vector3
    var peak: Double
    /// The largest acceleration along `direction`, without what came from across meanwhile.
    var along: Double
    /// Number of samples in `sum`.
    var count = 1.0
    /// Of the pulse that this one came across, length one; what is along it is not this one's.
    var across: Vector3?

    init(_ acceleration: Vector3, size: Double, across: Vector3? = nil, at timestamp: Timestamp) {
      (start, sum, peak, along, self.across) = (timestamp, acceleration, size, size, across)
      direction = acceleration / size
    }

    /// Where it points as a whole.
    var line: Vector3 { sum.normalized ?? direction }
  }

  private enum State {
    case quiet
    case pulse(Pulse)
    /// After the pulse `of` a reported impact. `isHeld` while the acceleration has not fallen since its start.
    case ringing(lastLoud: Timestamp, of: Pulse, isHeld: Bool)
  }

  /// How much harder than a pulse its rebound may be: up to 1.4 times in recorded pulses of loosely mounted devices.
  private static let reboundFactor = 1.5
  /// Time constant, in seconds, with which a push ends.
  private static let pushEnd = 0.003

  private let settings: Settings
  private var state = State.quiet
  private var now: Timestamp?
  /// The push that is under way: the acceleration outside of pulses, averaged over four times as long as a pulse may last. A
  /// blow that rises slowly takes less than a sixth off itself by it, and half a second of start-off is known by two thirds.
  private var push: LowPassFilter

  public init(settings: Settings = Settings()) {
    self.settings = settings
    push = LowPassFilter(cutoff: 1 / (2 * .pi * 4 * settings.pulseDuration))
  }

  /// Takes one sample in g, gravity removed. Returns the impact when its first pulse is over. Samples that are not finite
  /// or not later than the last are ignored.
  public mutating func process(userAcceleration: Vector3, at timestamp: Timestamp) -> Impact? {
    guard userAcceleration.isFinite else { return nil }
    let before = now
    if let before, timestamp <= before { return nil }
    let overdue = advance(to: timestamp)
    if let before { endPush(userAcceleration, after: timestamp.seconds(since: before), at: timestamp) }
    let acceleration = withoutPush(userAcceleration)
    let size = acceleration.length
    switch state {
    case .quiet:
      if size >= settings.threshold {
        state = .pulse(Pulse(acceleration, size: size, at: timestamp))
        return overdue
      }
    case .pulse(var pulse):
      if let other = impact(acceleration, across: pulse, at: timestamp) {
        // The harder of the two determines the side.
        state = .pulse(other)
        return overdue
      }
      let own = pulse.across.map { acceleration - acceleration.dot($0) * $0 } ?? acceleration
      let size = own.length
      guard size >= pulse.peak / 2, own.dot(pulse.line) > 0 else {
        state = .ringing(lastLoud: timestamp, of: pulse, isHeld: false)
        if let other = impact(acceleration, after: pulse, at: timestamp) { state = .pulse(other) }
        return impact(pulse)
      }
      pulse.sum += own
      pulse.count += 1
      pulse.peak = max(pulse.peak, size)
      pulse.along = max(pulse.along, own.dot(pulse.direction))
      state = .pulse(pulse)
      return overdue
    case .ringing(let lastLoud, let pulse, let wasHeld):
      if let other = impact(acceleration, across: pulse, at: timestamp)
        ?? impact(acceleration, after: pulse, at: timestamp)
      {
        state = .pulse(other)
        return overdue
      }
      let isHeld = wasHeld && userAcceleration.dot(pulse.line) >= pulse.peak / 2
      if isHeld, timestamp.seconds(since: pulse.start) > 2 * settings.pulseDuration {
        // A push: from here on only what is added to it counts.
        push.reset()
        _ = push.process(pulse.sum / pulse.count, at: timestamp)
        state = .quiet
        return overdue
      }
      state = .ringing(
        lastLoud: size >= settings.threshold / 2 ? timestamp : lastLoud, of: pulse, isHeld: isHeld)
      // A rebound, or the start of an impact from the other side, is no push.
      if size >= settings.threshold / 2, acceleration.dot(pulse.line) < 0 { return overdue }
    }
    _ = push.process(userAcceleration, at: timestamp)
    return overdue
  }

  /// Lets a push that has fallen below half of its strength end within milliseconds.
  private mutating func endPush(_ acceleration: Vector3, after step: Double, at timestamp: Timestamp) {
    if case .pulse = state { return }
    guard let value = push.value, value.dot(value) > 0 else { return }
    let share = max(0, acceleration.dot(value) / value.dot(value))
    guard share < 0.5 else { return }
    push.reset()
    push.process((share + (1 - share) * exp(-step / Self.pushEnd)) * value, at: timestamp)
  }

  /// Subtracts the push that was under way, as far as it still is.
  private func withoutPush(_ acceleration: Vector3) -> Vector3 {
    guard let push = push.value, let direction = push.normalized else { return acceleration }
    return acceleration - max(0, min(push.length, acceleration.dot(direction))) * direction
  }

  /// Returns an impact of its own along the line of a pulse that is over, in either direction, too hard for a rebound.
  private func impact(_ acceleration: Vector3, after pulse: Pulse, at timestamp: Timestamp) -> Pulse? {
    let size = acceleration.length
    guard size >= settings.threshold,
      abs(acceleration.dot(pulse.line)) > Self.reboundFactor * pulse.peak
    else { return nil }
    return Pulse(acceleration, size: size, at: timestamp)
  }

  /// Returns an impact of its own, harder than a pulse and from across it; nil if there is none.
  private func impact(_ acceleration: Vector3, across pulse: Pulse, at timestamp: Timestamp) -> Pulse? {
    let line = pulse.direction
    let along = acceleration.dot(line)
    let across = acceleration - along * line
    let size = across.length
    guard size >= settings.threshold, size > pulse.along, size > abs(along) else { return nil }
    return Pulse(across, size: size, across: line, at: timestamp)
  }

  /// Lets time pass without a sample, so that a pulse is reported though samples stop.
  public mutating func advance(to timestamp: Timestamp) -> Impact? {
    if let now, timestamp < now { return nil }
    now = timestamp
    switch state {
    case .quiet: return nil
    case .pulse(let pulse):
      guard timestamp.seconds(since: pulse.start) > settings.pulseDuration else { return nil }
      state = .ringing(lastLoud: timestamp, of: pulse, isHeld: true)
      return impact(pulse)
    case .ringing(let lastLoud, _, _):
      if timestamp.seconds(since: lastLoud) > settings.quietTime { state = .quiet }
      return nil
    }
  }

  /// Returns the impact of a pulse; nil if its side is not reported.
  private func impact(_ pulse: Pulse) -> Impact? {
    let line = pulse.line
    let side = Impact.Side(direction: line)
    guard settings.sides.contains(side) else { return nil }
    return Impact(timestamp: pulse.start, side: side, peak: pulse.peak, direction: line)
  }
}
