internal import Positioning
internal import Spatial
internal import Telemetry

/// Which failures, pauses and ends of deferrals are told when they happen: all of them, while they are few.
///
/// Of each group (failures; pauses and resumptions; ends of deferrals; suspect and plausible positions) at most `burst` come at once and one in `interval`
/// after that, so that a receiver that comes and goes floods neither the store nor the broker. What was held back last is
/// told as soon as it may be, so that the newest always arrives, with the number of those before it that were not told.
struct LocationEvents: Sendable {
  static let burst = 6.0
  /// Seconds.
  static let interval = 60.0

  private struct Group: Sendable {
    var credit = LocationEvents.burst
    var counted: Timestamp?
    var pending: LocationEventMessage?
    var suppressed = 0

    mutating func count(to now: Timestamp) {
      let passed = counted.map { max(0, now.seconds(since: $0)) } ?? 0
      credit = min(LocationEvents.burst, credit + passed / LocationEvents.interval)
      counted = max(now, counted ?? now)
    }

    mutating func drain() -> LocationEventMessage? {
      guard var message = pending else { return nil }
      message.suppressed = suppressed
      (pending, suppressed) = (nil, 0)
      credit = max(0, credit - 1)
      return message
    }

    /// A little is forgiven, since a sum of parts of a minute is not a minute.
    var isOpen: Bool { credit > 1 - 1e-6 }

    var nextDeadline: Timestamp? {
      guard pending != nil, let counted else { return nil }
      return counted.advanced(bySeconds: max(0, 1 - credit) * LocationEvents.interval)
    }
  }

  private var failures = Group()
  private var pauses = Group()
  private var deferrals = Group()
  private var suspicions = Group()

  /// When `advance` has something to do.
  var nextDeadline: Timestamp? {
    [failures.nextDeadline, pauses.nextDeadline, deferrals.nextDeadline, suspicions.nextDeadline]
      .compactMap { $0 }.min()
  }

  /// Takes an event; returns it when it is told at once.
  mutating func process(_ event: LocationEventMessage, at now: Timestamp) -> LocationEventMessage? {
    func add(to group: inout Group) -> LocationEventMessage? {
      group.count(to: now)
      if group.pending != nil { group.suppressed += 1 }
      group.pending = event
      return group.isOpen ? group.drain() : nil
    }
    switch event.event {
    case .failed, .other: return add(to: &failures)
    case .paused, .resumed: return add(to: &pauses)
    case .deferralEnded: return add(to: &deferrals)
    case .suspect, .plausible: return add(to: &suspicions)
    }
  }

  /// Returns what was held back and may be told now.
  mutating func advance(to now: Timestamp) -> [LocationEventMessage] {
    guard let nextDeadline, nextDeadline <= now else { return [] }
    func due(_ group: inout Group) -> LocationEventMessage? {
      group.count(to: now)
      return group.isOpen ? group.drain() : nil
    }
    return [due(&failures), due(&pauses), due(&deferrals), due(&suspicions)].compactMap { $0 }
      .sorted { $0.time < $1.time }
  }

  /// Returns what is held back, before a stop.
  mutating func finish() -> [LocationEventMessage] {
    [failures.drain(), pauses.drain(), deferrals.drain(), suspicions.drain()].compactMap { $0 }
      .sorted { $0.time < $1.time }
  }
}
