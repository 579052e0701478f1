/// What has happened and was not looked at yet, up to a bound. What finds no room is not forgotten: the next look fails,
/// because a command would go on with a part of the whole.
struct EventQueue<Event: Sendable>: Sendable {
  private let capacity: Int
  private var events: [Event] = []
  private var head = 0
  private var dropped = 0

  init(capacity: Int) { self.capacity = capacity }

  mutating func append(_ event: Event) {
    if events.count - head >= capacity { dropped += 1 } else { events.append(event) }
  }

  /// Events that were taken out and are to be looked at again, before all others.
  mutating func putBack(_ earlier: [Event]) {
    events = earlier + events[head...]
    head = 0
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
    guard head < events.count else { return nil }
    defer {
      head += 1
      if head == events.count {
        events.removeAll(keepingCapacity: true)
        head = 0
      }
    }
    return events[head]
  }
}
