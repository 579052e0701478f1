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
public struct ImpactDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// g that makes an impact. Full braking stays below 1.2 g, potholes are short and seldom above 2 g at the body.
    public var threshold = 2.5
    /// Seconds that the first pulse is followed at most: crash pulses of vehicles last 50 to 120 ms.
    public var pulseDuration = 0.12
    /// Seconds below half of the threshold after which the event is over and another can be reported.
    public var quietTime = 0.3

    public init() {}
  }

  private enum State {
    case quiet
    /// `sum` is the acceleration added up over the pulse: its direction is that of the change of speed.
    case pulse(start: Timestamp, direction: Vector3, sum: Vector3, peak: Double)
    case ringing(lastLoud: Timestamp)
  }

  private let settings: Settings
  private var state = State.quiet
  private var now: Timestamp?

  public init(settings: Settings = Settings()) {
    self.settings = settings
  }

  /// Takes one sample in g, gravity removed. Returns the impact when its first pulse is over. Samples that are not finite
  /// or not later than the last are ignored.
  public mutating func process(userAcceleration: Vector3, at timestamp: Timestamp) -> Impact? {
    guard userAcceleration.isFinite else { return nil }
    if let now, timestamp <= now { return nil }
    let overdue = advance(to: timestamp)
    let size = userAcceleration.length
    switch state {
    case .quiet:
      if size >= settings.threshold {
        state = .pulse(
          start: timestamp, direction: userAcceleration / size, sum: userAcceleration, peak: size)
      }
    case .pulse(let start, let direction, let sum, let peak):
      let isOver = size < peak / 2 || userAcceleration.dot(direction) <= 0
      guard !isOver else {
        state = .ringing(lastLoud: timestamp)
        return Self.impact(start: start, sum: sum, direction: direction, peak: peak)
      }
      state = .pulse(
        start: start, direction: direction, sum: sum + userAcceleration, peak: max(peak, size))
    case .ringing:
      if size >= settings.threshold / 2 { state = .ringing(lastLoud: timestamp) }
    }
    return overdue
  }

  /// Lets time pass without a sample, so that a pulse is reported though samples stop.
  public mutating func advance(to timestamp: Timestamp) -> Impact? {
    if let now, timestamp < now { return nil }
    now = timestamp
    switch state {
    case .quiet: return nil
    case .pulse(let start, let direction, let sum, let peak):
      guard timestamp.seconds(since: start) > settings.pulseDuration else { return nil }
      state = .ringing(lastLoud: timestamp)
      return Self.impact(start: start, sum: sum, direction: direction, peak: peak)
    case .ringing(let lastLoud):
      if timestamp.seconds(since: lastLoud) > settings.quietTime { state = .quiet }
      return nil
    }
  }

  private static func impact(start: Timestamp, sum: Vector3, direction: Vector3, peak: Double) -> Impact {
    let direction = sum.normalized ?? direction
    return Impact(timestamp: start, side: .init(direction: direction), peak: peak, direction: direction)
  }
}
