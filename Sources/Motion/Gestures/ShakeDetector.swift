public import Spatial

/// Finds shakes: quick swings to and fro along one line.
///
/// A swing is an acceleration above the threshold; the next one must point the other way. Two swings begin a shake; once
/// it is quiet again it has ended when there were enough of them, and was cancelled when there were not (a bump has a
/// swing and a rebound) or when it went on for too long (a rough road).
///
/// Feed it user acceleration, gravity removed; call `advance(to:)` when samples stop.
public struct ShakeDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// g of user acceleration that makes a swing. Shaking by hand reaches 2 to 4 g, a rough road seldom 1 g.
    public var threshold = 1.2
    /// Seconds within which the next swing must come: a hand swings 2 to 6 times a second.
    public var swingInterval = 0.4
    /// Swings that a shake has at the least; a bump has its blow and its rebound.
    public var minimumSwings = 4
    /// Seconds; what lasts longer is no shake.
    public var maximumDuration = 3.0

    public init() {}
  }

  public enum Cancellation: String, Hashable, Sendable, CaseIterable {
    /// It turned out not to be one.
    case tooFewSwings
    /// It went on for longer than a shake does.
    case tooLong
  }

  public enum Event: Hashable, Sendable {
    case began(Timestamp)
    /// `swings` to and fro in all.
    case ended(Timestamp, swings: Int)
    case cancelled(Timestamp, Cancellation)

    public var timestamp: Timestamp {
      switch self {
      case .began(let timestamp), .ended(let timestamp, _), .cancelled(let timestamp, _): timestamp
      }
    }
  }

  private enum State {
    case quiet
    /// One swing was seen, or a shake is under way.
    case swinging(start: Timestamp, last: Timestamp, direction: Vector3, count: Int)
    /// Cancelled for its length: waits for quiet before anything can begin.
    case exhausted(last: Timestamp)
  }

  private let settings: Settings
  private var state = State.quiet
  private var now: Timestamp?

  public init(settings: Settings = Settings()) {
    self.settings = settings
  }

  /// Whether a shake has begun and neither ended nor been cancelled.
  public var isShaking: Bool {
    if case .swinging(_, _, _, let count) = state { count >= 2 } else { false }
  }

  /// Takes one sample in g, gravity removed. Returns what happened, in order. Samples that are not finite or not later
  /// than the last are ignored.
  public mutating func process(userAcceleration: Vector3, at timestamp: Timestamp) -> [Event] {
    guard userAcceleration.isFinite else { return [] }
    if let now, timestamp <= now { return [] }
    var events = advance(to: timestamp)
    let size = userAcceleration.length
    guard size >= settings.threshold else { return events }
    let direction = userAcceleration / size
    switch state {
    case .quiet:
      state = .swinging(start: timestamp, last: timestamp, direction: direction, count: 1)
    case .swinging(let start, let last, let before, let count):
      // Half of the sphere around the opposite: hands do not swing along a ruler.
      guard direction.dot(before) < -0.5 else {
        // A single push that lasts is not yet a swing to and fro; its quiet counts from its end.
        if count == 1 {
          state = .swinging(start: start, last: timestamp, direction: before, count: 1)
        } else {
          state = .swinging(start: start, last: last, direction: before, count: count)
        }
        return events
      }
      if count == 1 { events.append(.began(timestamp)) }
      state = .swinging(start: start, last: timestamp, direction: direction, count: count + 1)
    case .exhausted:
      state = .exhausted(last: timestamp)
    }
    return events
  }

  /// Lets time pass without a sample, so that a shake can end.
  public mutating func advance(to timestamp: Timestamp) -> [Event] {
    if let now, timestamp < now { return [] }
    now = timestamp
    switch state {
    case .quiet: return []
    case .swinging(let start, let last, _, let count):
      if timestamp.seconds(since: last) > settings.swingInterval {
        state = .quiet
        guard count >= 2 else { return [] }
        let end = last.advanced(bySeconds: settings.swingInterval)
        return count >= settings.minimumSwings
          ? [.ended(end, swings: count)] : [.cancelled(end, .tooFewSwings)]
      }
      guard timestamp.seconds(since: start) > settings.maximumDuration else { return [] }
      state = .exhausted(last: timestamp)
      return count >= 2 ? [.cancelled(timestamp, .tooLong)] : []
    case .exhausted(let last):
      if timestamp.seconds(since: last) > settings.swingInterval { state = .quiet }
      return []
    }
  }
}
