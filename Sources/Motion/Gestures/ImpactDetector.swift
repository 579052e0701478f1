public import Spatial

/// A blow: which side it struck, how hard and when.
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

  /// When the blow began.
  public var timestamp: Timestamp
  public var side: Side
  /// g, the largest user acceleration of the blow itself, without its rebound.
  public var peak: Double
  /// Device frame, length one: towards where the blow came from.
  public var direction: Vector3
}

/// Finds impacts: one report for each, however long it rings.
///
/// User acceleration has Core Motion's sign, that of what loose things inside would do: a vehicle that is struck in front
/// is slowed, so everything in it goes to the front, and (0, +, 0) is read. The side that was struck is therefore the side
/// to which the *first* pulse points; the rebound points the other way and may be the larger one.
///
/// A push that was under way before, as in a strong start-off, is no part of a blow: it is taken off. One that began as
/// hard as a blow is told as one, and a harder blow from across it is told for itself, be it before or after the first has
/// been told: only along its own line does a blow rebound.
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
    /// After the pulse `of` a blow that was told.
    case ringing(lastLoud: Timestamp, of: Pulse)
  }

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
    if let now, timestamp <= now { return nil }
    let overdue = advance(to: timestamp)
    let acceleration = withoutPush(userAcceleration)
    let size = acceleration.length
    switch state {
    case .quiet:
      if size >= settings.threshold {
        state = .pulse(Pulse(acceleration, size: size, at: timestamp))
        return overdue
      }
    case .pulse(var pulse):
      if let other = blow(acceleration, across: pulse, at: timestamp) {
        // The harder of the two names the side.
        state = .pulse(other)
        return overdue
      }
      let own = pulse.across.map { acceleration - acceleration.dot($0) * $0 } ?? acceleration
      let size = own.length
      guard size >= pulse.peak / 2, own.dot(pulse.line) > 0 else {
        state = .ringing(lastLoud: timestamp, of: pulse)
        return impact(pulse)
      }
      pulse.sum += own
      pulse.peak = max(pulse.peak, size)
      pulse.along = max(pulse.along, own.dot(pulse.direction))
      state = .pulse(pulse)
      return overdue
    case .ringing(_, let pulse):
      if let other = blow(acceleration, across: pulse, at: timestamp) {
        state = .pulse(other)
        return overdue
      }
      if size >= settings.threshold / 2 { state = .ringing(lastLoud: timestamp, of: pulse) }
    }
    _ = push.process(userAcceleration, at: timestamp)
    return overdue
  }

  /// Takes off the push that was under way, as far as it still is.
  private func withoutPush(_ acceleration: Vector3) -> Vector3 {
    guard let push = push.value, let direction = push.normalized else { return acceleration }
    return acceleration - max(0, min(push.length, acceleration.dot(direction))) * direction
  }

  /// A blow of its own, harder than a pulse and from across it; nil where there is none.
  private func blow(_ acceleration: Vector3, across pulse: Pulse, at timestamp: Timestamp) -> Pulse? {
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
      state = .ringing(lastLoud: timestamp, of: pulse)
      return impact(pulse)
    case .ringing(let lastLoud, _):
      if timestamp.seconds(since: lastLoud) > settings.quietTime { state = .quiet }
      return nil
    }
  }

  /// Nil for a side of which nothing is told.
  private func impact(_ pulse: Pulse) -> Impact? {
    let line = pulse.line
    let side = Impact.Side(direction: line)
    guard settings.sides.contains(side) else { return nil }
    return Impact(timestamp: pulse.start, side: side, peak: pulse.peak, direction: line)
  }
}
