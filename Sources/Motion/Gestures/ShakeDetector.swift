public import Spatial

/// Finds shakes: quick swings to and fro along one line.
///
/// A swing is an acceleration above the threshold; the next one must point the other way. Two swings begin a shake; once
/// it is quiet again it has ended when there were enough of them, and was cancelled when there were not (a bump has a
/// swing and a rebound). As with UIKit's `motionCancelled`, one that goes on for more than about a second is no gesture
/// either (a rough road) and is cancelled.
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
    /// Seconds from the first swing to the last; what lasts longer is no shake. UIKit cancels after about one.
    public var maximumDuration = 1.0
    /// Along which lines shakes are looked for. With one alone, the acceleration along the other does not count.
    public var axes = Set(Axis.allCases)

    public init() {}
  }

  /// The line of a shake against gravity: whichever of both it is nearer to.
  public enum Axis: String, Hashable, Sendable, CaseIterable {
    case horizontal
    case vertical
  }

  public enum Cancellation: String, Hashable, Sendable, CaseIterable {
    /// It turned out not to be one.
    case tooFewSwings
    /// It went on for longer than a shake does.
    case tooLong
  }

  /// What happened. `axis` is that of the swings so far; nil where gravity was not told.
  public enum Event: Hashable, Sendable {
    case began(Timestamp, axis: Axis?)
    /// `swings` to and fro in all.
    case ended(Timestamp, swings: Int, axis: Axis?)
    case cancelled(Timestamp, Cancellation, axis: Axis?)

    public var timestamp: Timestamp {
      switch self {
      case .began(let timestamp, _), .ended(let timestamp, _, _), .cancelled(let timestamp, _, _): timestamp
      }
    }

    public var axis: Axis? {
      switch self {
      case .began(_, let axis), .ended(_, _, let axis), .cancelled(_, _, let axis): axis
      }
    }
  }

  /// The swings of a shake, from the first on.
  private struct Swings {
    let start: Timestamp
    var last: Timestamp
    /// Of the newest swing, length one.
    var direction: Vector3
    var count = 1
    /// Squares of the acceleration along gravity and across it, g², added up; zero where gravity is not known.
    private var (vertical, horizontal) = (0.0, 0.0)

    init(_ acceleration: Vector3, along direction: Vector3, down: Vector3?, at timestamp: Timestamp) {
      (start, last, self.direction) = (timestamp, timestamp, direction)
      add(acceleration, down)
    }

    mutating func add(_ acceleration: Vector3, _ down: Vector3?) {
      guard let down else { return }
      let along = acceleration.dot(down)
      vertical += along * along
      horizontal += max(0, acceleration.dot(acceleration) - along * along)
    }

    var axis: Axis? {
      guard vertical + horizontal > 0 else { return nil }
      return vertical > horizontal ? .vertical : .horizontal
    }
  }

  private enum State {
    case quiet
    /// One swing was seen, or a shake is under way.
    case swinging(Swings)
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
    if case .swinging(let swings) = state { swings.count >= 2 } else { false }
  }

  /// Takes one sample. Returns what happened, in order. Samples that are not finite or not later than the last are ignored.
  /// - Parameters:
  ///   - userAcceleration: g, gravity removed.
  ///   - gravity: in the same axes, of any length; nil when it is not known. Without it horizontal and vertical are not told
  ///     apart, and nothing is found where only one of them is looked for.
  public mutating func process(
    userAcceleration: Vector3, gravity: Vector3? = nil, at timestamp: Timestamp
  ) -> [Event] {
    guard userAcceleration.isFinite else { return [] }
    if let now, timestamp <= now { return [] }
    var events = advance(to: timestamp)
    let down = gravity?.normalized
    guard let acceleration = watched(userAcceleration, down) else { return events }
    let size = acceleration.length
    guard size >= settings.threshold, size > 0 else { return events }
    let direction = acceleration / size
    switch state {
    case .quiet:
      state = .swinging(Swings(acceleration, along: direction, down: down, at: timestamp))
    case .swinging(var swings):
      swings.add(acceleration, down)
      // Half of the sphere around the opposite: hands do not swing along a ruler.
      if direction.dot(swings.direction) < -0.5 {
        (swings.last, swings.direction) = (timestamp, direction)
        swings.count += 1
        if swings.count == 2 { events.append(.began(timestamp, axis: swings.axis)) }
      } else if swings.count == 1 {
        // A single push that lasts is not yet a swing to and fro; its quiet counts from its end.
        swings.last = timestamp
      }
      state = .swinging(swings)
      if swings.last.seconds(since: swings.start) > settings.maximumDuration {
        state = .exhausted(last: timestamp)
        if swings.count >= 2 { events.append(.cancelled(timestamp, .tooLong, axis: swings.axis)) }
      }
    case .exhausted:
      state = .exhausted(last: timestamp)
    }
    return events
  }

  /// The part of an acceleration along the lines that are looked for; nil where that cannot be told.
  private func watched(_ acceleration: Vector3, _ down: Vector3?) -> Vector3? {
    if settings.axes.count == Axis.allCases.count { return acceleration }
    guard let down else { return nil }
    let vertical = acceleration.dot(down) * down
    if settings.axes.contains(.vertical) { return vertical }
    return settings.axes.contains(.horizontal) ? acceleration - vertical : nil
  }

  /// Lets time pass without a sample, so that a shake can end.
  public mutating func advance(to timestamp: Timestamp) -> [Event] {
    if let now, timestamp < now { return [] }
    now = timestamp
    switch state {
    case .quiet: return []
    case .swinging(let swings):
      guard timestamp.seconds(since: swings.last) > settings.swingInterval else { return [] }
      state = .quiet
      guard swings.count >= 2 else { return [] }
      let end = swings.last.advanced(bySeconds: settings.swingInterval)
      return swings.count >= settings.minimumSwings
        ? [.ended(end, swings: swings.count, axis: swings.axis)]
        : [.cancelled(end, .tooFewSwings, axis: swings.axis)]
    case .exhausted(let last):
      if timestamp.seconds(since: last) > settings.swingInterval { state = .quiet }
      return []
    }
  }
}
