internal import Glibc
public import Spatial
public import VehicleData

/// Detects impacts and reports each once, regardless of how long it rings.
///
/// User acceleration has Core Motion's sign, the direction in which loose objects move: a vehicle that is
/// struck in front is slowed, so everything in it moves forward, and the reading is (0, +, 0). The struck
/// side is therefore the side to which the pulse points.
///
/// The rules:
/// 1. A pulse starts at the threshold. It is reported when it falls below half of its peak, reverses, or has
///    lasted `pulseDuration`. Its side is the direction of its change of velocity.
/// 2. Acceleration along the line of a pulse that follows it is rebound and ringing. It is reported only if
///    it is more than one and a half times as strong.
/// 3. A stronger pulse across that line is a separate impact. If the first pulse is not over, the second
///    replaces it.
/// 4. An acceleration that lasts for twice `pulseDuration` is a push, such as a strong start. A push has no
///    rebound, so later pulses are evaluated independently, in every direction. A push in progress is
///    subtracted from the impact until the reading falls below half of it. A push that starts at the
///    threshold or above is first reported as an impact.
public struct ImpactDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// Acceleration in g from which a pulse is an impact. Full braking stays below 1.2 g; potholes are short
    /// and rarely exceed 2 g at the body.
    public var threshold = 2.5
    /// Maximum duration of the first pulse in s. Crash pulses of vehicles last 50 to 120 ms.
    public var pulseDuration = 0.12
    /// Time in s below half of the threshold after which another impact can be reported.
    public var quietTime = 0.3
    /// Sides whose impacts are reported.
    public var sides = Set(Impact.Side.allCases)

    public init() {}
  }

  /// The first pulse of an impact.
  private struct Pulse {
    var start: Timestamp
    /// Initial direction, length one.
    var direction: Vector3
    /// Sum of the accelerations. Its direction is that of the change of velocity.
    var sum: Vector3
    var peak: Double
    /// Largest acceleration along `direction`, without acceleration across it.
    var along: Double
    /// Number of samples in `sum`.
    var count = 1.0
    /// Direction of the earlier pulse that this one crosses, length one; acceleration along it does not
    /// belong to this pulse.
    var across: Vector3?

    init(_ acceleration: Vector3, size: Double, across: Vector3? = nil, at timestamp: Timestamp) {
      (start, sum, peak, along, self.across) = (timestamp, acceleration, size, size, across)
      direction = acceleration / size
    }

    /// Mean direction of the pulse.
    var line: Vector3 { sum.normalized ?? direction }
  }

  private enum State {
    case quiet
    case pulse(Pulse)
    /// The phase after the pulse `of` a reported impact. `isHeld` is true while the acceleration has not
    /// fallen since the start.
    case ringing(lastLoud: Timestamp, of: Pulse, isHeld: Bool)
  }

  /// Largest strength of a rebound relative to its pulse. Recorded pulses of loosely mounted devices reach
  /// 1.4.
  private static let reboundFactor = 1.5
  /// Time constant in s with which a push ends.
  private static let pushEnd = 0.003

  private let settings: Settings
  private var state = State.quiet
  private var now: Timestamp?
  /// The push in progress: acceleration outside of pulses, averaged over four times the maximum duration of a
  /// pulse. This average reduces a slowly rising impact by less than a sixth, and reaches two thirds of the
  /// acceleration of a start within half a second.
  private var push: LowPassFilter

  public init(settings: Settings = Settings()) {
    self.settings = settings
    push = LowPassFilter(cutoff: 1 / (2 * .pi * 4 * settings.pulseDuration))
  }

  /// Processes a sample in g without gravity. Returns the impact at the end of its first pulse, otherwise
  /// nil. Samples that are not finite or not later than the last are ignored.
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
        // A stronger pulse across the current one replaces it and determines the side.
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
        // The reported pulse was a push. Its mean becomes the push in progress, so that only additional
        // acceleration counts from now on.
        push.reset()
        _ = push.process(pulse.sum / pulse.count, at: timestamp)
        state = .quiet
        return overdue
      }
      state = .ringing(
        lastLoud: size >= settings.threshold / 2 ? timestamp : lastLoud, of: pulse, isHeld: isHeld)
      // A rebound, or the start of an impact from the other side, is not part of a push.
      if size >= settings.threshold / 2, acceleration.dot(pulse.line) < 0 { return overdue }
    }
    _ = push.process(userAcceleration, at: timestamp)
    return overdue
  }

  /// Ends the push in progress within milliseconds, once the acceleration along it has fallen below half of
  /// the push.
  private mutating func endPush(_ acceleration: Vector3, after step: Double, at timestamp: Timestamp) {
    if case .pulse = state { return }
    guard let value = push.value, value.dot(value) > 0 else { return }
    let share = max(0, acceleration.dot(value) / value.dot(value))
    guard share < 0.5 else { return }
    push.reset()
    push.process((share + (1 - share) * exp(-step / Self.pushEnd)) * value, at: timestamp)
  }

  /// Subtracts the push in progress, limited to the current acceleration.
  private func withoutPush(_ acceleration: Vector3) -> Vector3 {
    guard let push = push.value, let direction = push.normalized else { return acceleration }
    return acceleration - max(0, min(push.length, acceleration.dot(direction))) * direction
  }

  /// Returns a separate impact along the line of a completed pulse, in either direction, if it is too strong
  /// for a rebound.
  private func impact(_ acceleration: Vector3, after pulse: Pulse, at timestamp: Timestamp) -> Pulse? {
    let size = acceleration.length
    guard size >= settings.threshold,
      abs(acceleration.dot(pulse.line)) > Self.reboundFactor * pulse.peak
    else { return nil }
    return Pulse(acceleration, size: size, at: timestamp)
  }

  /// Returns a separate impact across a pulse and stronger than it; nil if there is none.
  private func impact(_ acceleration: Vector3, across pulse: Pulse, at timestamp: Timestamp) -> Pulse? {
    let line = pulse.direction
    let along = acceleration.dot(line)
    let across = acceleration - along * line
    let size = across.length
    guard size >= settings.threshold, size > pulse.along, size > abs(along) else { return nil }
    return Pulse(across, size: size, across: line, at: timestamp)
  }

  /// Advances the time without a sample, so that a pulse is reported even if samples stop.
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

extension Impact.Side {
  /// Selects the side whose axis is closest to a direction.
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
