internal import DequeModule
internal import Fleet

/// What has happened and was not looked at yet, up to a bound. What finds no room is not forgotten: the next look fails,
/// because a command would go on with a part of the whole.
struct EventQueue<Event: Sendable>: Sendable {
  private let capacity: Int
  private var events: Deque<Event> = []
  private var dropped = 0

  init(capacity: Int) { self.capacity = capacity }

  mutating func append(_ event: Event) {
    if events.count >= capacity { dropped += 1 } else { events.append(event) }
  }

  /// Events that were taken out and are to be looked at again, before all others.
  mutating func putBack(_ earlier: [Event]) {
    events.prepend(contentsOf: earlier)
  }

  /// The oldest; nil when there is none.
  /// - Throws: `FleetError` when some found no room.
  mutating func next() throws(FleetError) -> Event? {
    guard dropped == 0 else {
      throw FleetError(
        operation: "keep up with", object: "the broker",
        cause: "\(dropped) messages found no room; name fewer vehicles with --fleet and --vehicle",
        exit: .unavailable)
    }
    return events.popFirst()
  }
}
