internal import Positioning
package import Spatial
package import Telemetry

/// Limits the rate of published location events (failures, pauses, ends of deferrals, suspicions). Below the
/// limit all events are published.
///
/// Each group of events has a `MessageCredit`. An unstable
/// receiver therefore floods neither the store nor the broker. Of suppressed events, the last one is
/// published as soon as the limit permits, with the number of events suppressed before it.
package struct LocationEvents: Sendable {
  private struct Group: Sendable {
    var credit = MessageCredit()
    var pending: LocationEventMessage?
    var suppressed = 0

    mutating func drain() -> LocationEventMessage? {
      guard var message = pending else { return nil }
      message.suppressed = suppressed
      (pending, suppressed) = (nil, 0)
      credit.spend()
      return message
    }

    var nextDeadline: Timestamp? { pending == nil ? nil : credit.opening }
  }

  private var failures = Group()
  private var pauses = Group()
  private var deferrals = Group()
  private var suspicions = Group()

  package init() {}

  /// The next time at which `advance` must be called; nil if no event waits.
  package var nextDeadline: Timestamp? {
    [failures.nextDeadline, pauses.nextDeadline, deferrals.nextDeadline, suspicions.nextDeadline]
      .compactMap { $0 }.min()
  }

  /// Processes an event.
  /// - Returns: the event if it must be published immediately; nil if it waits.
  package mutating func process(_ event: LocationEventMessage, at now: Timestamp) -> LocationEventMessage? {
    func add(to group: inout Group) -> LocationEventMessage? {
      group.credit.count(to: now)
      if group.pending != nil { group.suppressed += 1 }
      group.pending = event
      return group.credit.isOpen ? group.drain() : nil
    }
    switch event.event {
    case .failed, .recovered, .other: return add(to: &failures)
    case .paused, .resumed: return add(to: &pauses)
    case .deferralEnded: return add(to: &deferrals)
    case .suspect, .plausible: return add(to: &suspicions)
    }
  }

  /// Returns waiting events that may be published now.
  package mutating func advance(to now: Timestamp) -> [LocationEventMessage] {
    guard let nextDeadline, nextDeadline <= now else { return [] }
    func due(_ group: inout Group) -> LocationEventMessage? {
      group.credit.count(to: now)
      return group.credit.isOpen ? group.drain() : nil
    }
    return [due(&failures), due(&pauses), due(&deferrals), due(&suspicions)].compactMap { $0 }
      .sorted { $0.time < $1.time }
  }

  /// Returns waiting events, to publish them before a stop.
  package mutating func finish() -> [LocationEventMessage] {
    [failures.drain(), pauses.drain(), deferrals.drain(), suspicions.drain()].compactMap { $0 }
      .sorted { $0.time < $1.time }
  }
}
