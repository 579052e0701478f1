internal import MQTT
internal import Spatial

/// Decides whether a vehicle that connects in bursts publishes a `status` immediately, or only as `asleep` at the end of the
/// burst. Pure.
///
/// The retained `asleep` states the time of the next burst. If a vehicle at rest connects at that time, `online` would contain
/// the same members as the next `asleep`, some seconds earlier. Such a burst is quiet: its statuses are held, and the last one is
/// published as `asleep`. A burst is not quiet in these cases:
///
/// - It is the first burst, or an event has opened the link.
/// - The previous attempt or connection failed. The retained status may be the will, or the broker may be another one.
/// - The vehicle moves. Some consumers use the speed of a vehicle only while it is online.
/// - It lasts longer than `limit`.
struct QuietBurst: Sendable {
  private enum Phase: Hashable {
    /// The retained status is unknown, or is not `asleep`, or an event has occurred since.
    case unquiet
    /// `asleep` is retained.
    case announced
    /// The first attempt to connect since `asleep` is in progress.
    case attempted
    /// The first attempt since `asleep` was successful.
    case open(since: Timestamp, hasHeld: Bool)
  }

  /// Maximum duration of a burst without `online`, in s. After this time the fleet marks a position of a sleeping vehicle as
  /// not current (`VehicleRecord.isLocationStale`).
  static let limit = 30.0

  private var phase = Phase.unquiet

  /// Records that `asleep` was published.
  mutating func announce() { phase = .announced }

  /// Records an attempt to connect.
  mutating func attempt() { phase = phase == .announced ? .attempted : .unquiet }

  /// Records the success of the attempt.
  mutating func connect(at time: Timestamp) {
    if phase == .attempted { phase = .open(since: time, hasHeld: false) }
  }

  /// Returns true if a status would be held, and the burst can end within the limit.
  func isQuiet(_ plan: LinkPlan, at time: Timestamp) -> Bool {
    guard case .bursts(let linger, _) = plan.choice.policy, plan.isAtRest else { return false }
    return switch phase {
    case .unquiet: false
    case .announced, .attempted: linger < Self.limit
    case .open(let since, _): time.seconds(since: since) + linger < Self.limit
    }
  }

  /// Returns true if a new status is held, and false if it must be published.
  mutating func holds(_ plan: LinkPlan, at time: Timestamp) -> Bool {
    guard isQuiet(plan, at: time) else {
      phase = .unquiet
      return false
    }
    if case .open(let since, _) = phase { phase = .open(since: since, hasHeld: true) }
    return true
  }

  /// Ends a quiet burst, for example because of an event.
  /// - Returns: true if the last held status must be published now. Before the link is open, the next status is published
  ///   anyway.
  mutating func end() -> Bool {
    defer { phase = .unquiet }
    if case .open(_, hasHeld: true) = phase { return true }
    return false
  }

  /// Ends a quiet burst that exceeds the limit, or in which the vehicle has started to move.
  /// - Returns: as `end()`.
  mutating func advance(to time: Timestamp, _ plan: LinkPlan) -> Bool {
    guard case .open = phase, !isQuiet(plan, at: time) else { return false }
    return end()
  }
}
