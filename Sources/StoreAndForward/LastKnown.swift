/// Knows of each retained topic in the lanes of histories which record is the newest: what is last known. Pure.
///
/// A history is delivered oldest first, but where a vehicle is now must not wait behind where it was. So the newest
/// retained record of a topic goes before the backlog, and the ones before it follow without their retain flag: whatever
/// order they come in, what the broker keeps never goes back.
struct LastKnown {
  struct Entry {
    var lane: Lane
    var place: UInt64
    /// Whether it is still to be handed out, as far as is known.
    var isDue: Bool
  }

  private(set) var entries: [String: Entry] = [:]

  /// Whether records of a lane make a history. Events stay in order whatever they are, and of a state there is one.
  static func concerns(_ lane: Lane) -> Bool { lane > .state }

  /// A record took its place in its lane.
  mutating func note(_ record: Record) {
    guard record.retain, Self.concerns(record.lane) else { return }
    entries[record.topic] = Entry(lane: record.lane, place: record.seq, isDue: true)
  }

  /// A record was given another place. What had overtaken it stays the newest.
  mutating func move(_ record: Record, from old: UInt64) {
    if let entry = entries[record.topic], entry.place > old { return }
    note(record)
  }

  /// Places that are found in a store.
  mutating func note(topic: String, lane: Lane, place: UInt64, isDue: Bool) {
    if let known = entries[topic], known.place >= place { return }
    entries[topic] = Entry(lane: lane, place: place, isDue: isDue)
  }

  mutating func handedOut(_ topic: String) { entries[topic]?.isDue = false }

  /// Whether a newer record of the same topic has been accepted.
  func isOutdated(_ record: Record) -> Bool {
    guard record.retain, Self.concerns(record.lane), let entry = entries[record.topic] else { return false }
    return entry.place > record.seq
  }

  /// Everything is offered again.
  mutating func rewind() {
    for topic in entries.keys { entries[topic]?.isDue = true }
  }
}
