public import Spatial
public import VehicleData

/// Detects shakes: quick alternating swings along one line.
///
/// A swing is an acceleration above the threshold; the next one must point the opposite way. Two swings begin
/// a shake. When the device is quiet again, the shake ends if it had enough swings, and is cancelled
/// otherwise (a bump has a swing and a rebound). As with UIKit's `motionCancelled`, a shake longer than about
/// a second (a rough road) is cancelled.
///
/// Pass user acceleration without gravity, and call `advance(to:)` when samples stop.
public struct ShakeDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// User acceleration in g that counts as a swing. Shaking by hand reaches 2 to 4 g, a rough road rarely 1
    /// g.
    public var threshold = 1.2
    /// Maximum time in s between swings: a hand swings 2 to 6 times a second.
    public var swingInterval = 0.4
    /// Minimum number of swings of a shake. A bump has two: impact and rebound.
    public var minimumSwings = 4
    /// Maximum time in s from the first to the last swing. UIKit cancels after about one second.
    public var maximumDuration = 1.0
    /// Lines along which shakes are detected. If only one is selected, acceleration along the other is
    /// ignored.
    public var axes = Set(Axis.allCases)

    public init() {}
  }

  public typealias Axis = ShakeAxis

  public enum Cancellation: String, Hashable, Sendable, CaseIterable {
    /// The motion had too few swings for a shake.
    case tooFewSwings
    /// The motion lasted longer than a shake.
    case tooLong
  }

  /// A change of a shake. `axis` is the axis of the swings so far; nil if gravity is unknown.
  public enum Event: Hashable, Sendable {
    case began(Timestamp, axis: Axis?)
    /// The shake ended after `swings` swings in total.
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

  /// Swings of a shake, from the first one.
  private struct Swings {
    let start: Timestamp
    var last: Timestamp
    /// Direction of the newest swing, length one.
    var direction: Vector3
    var count = 1
    /// Sums of the squared acceleration along gravity and across it in g²; zero if gravity is unknown.
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
    /// The state after at least one swing.
    case swinging(Swings)
    /// Cancelled because of its length. The next shake requires a quiet period first.
    case exhausted(last: Timestamp)
  }

  private let settings: Settings
  private var state = State.quiet
  private var now: Timestamp?

  public init(settings: Settings = Settings()) {
    self.settings = settings
  }

  /// True during a shake that has neither ended nor been cancelled.
  public var isShaking: Bool {
    if case .swinging(let swings) = state { swings.count >= 2 } else { false }
  }

  /// Processes a sample and returns the resulting events in order. Samples that are not finite or not later
  /// than the last are ignored.
  /// - Parameters:
  ///   - userAcceleration: acceleration in g without gravity.
  ///   - gravity: direction of gravity in the same axes, of any length; nil if unknown. Without it the axis
  ///     is undetermined, and shakes are detected only if both axes are selected.
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
      // A swing within 60° of the opposite direction counts as the reverse swing, because hands do not swing
      // along a straight line.
      if direction.dot(swings.direction) < -0.5 {
        (swings.last, swings.direction) = (timestamp, direction)
        swings.count += 1
        if swings.count == 2 { events.append(.began(timestamp, axis: swings.axis)) }
      } else if swings.count == 1 {
        // A single lasting push is not a swing; the quiet period starts at its end.
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

  /// Returns the part of an acceleration along the selected axes; nil if gravity is unknown.
  private func watched(_ acceleration: Vector3, _ down: Vector3?) -> Vector3? {
    if settings.axes.count == Axis.allCases.count { return acceleration }
    guard let down else { return nil }
    let vertical = acceleration.dot(down) * down
    if settings.axes.contains(.vertical) { return vertical }
    return settings.axes.contains(.horizontal) ? acceleration - vertical : nil
  }

  /// Advances the time without a sample, so that a shake can end.
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
