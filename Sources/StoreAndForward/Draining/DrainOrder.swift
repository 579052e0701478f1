internal import Telemetry

/// What is read next, and from where. Pure.
struct DrainOrder {
  enum Step: Equatable {
    case lane(DeliveryLane)
    /// The newest of each retained topic, ahead of the history that it belongs to.
    case lastKnown
  }

  /// The largest seq handed out of each lane.
  private var cursors: [UInt64] = Array(repeating: 0, count: DeliveryLane.allCases.count)
  /// What waited in each lane when reading began: the backlog, which live state overtakes. Nil before reading begins.
  private var backlogs: [UInt64]?
  private var stateFirst = true

  /// Everything is to be handed out again, what is last known and the state lane first.
  mutating func rewind() { self = DrainOrder() }

  func cursor(_ lane: DeliveryLane) -> UInt64 { cursors[lane.rawValue] }

  mutating func advance(_ lane: DeliveryLane, to seq: UInt64) {
    cursors[lane.rawValue] = max(cursors[lane.rawValue], seq)
  }

  /// Learns what waits, at the first reading after a rewind.
  /// - Parameter newest: the largest seq ever put into a lane.
  mutating func begin(newest: (DeliveryLane) -> UInt64) {
    if backlogs == nil { backlogs = DeliveryLane.allCases.map(newest) }
  }

  /// Whether the record at a place would wait behind a backlog.
  func isBehindBacklog(_ lane: DeliveryLane, _ place: UInt64) -> Bool {
    place > cursor(lane) && cursor(lane) < backlogs?[lane.rawValue] ?? 0
  }

  /// What to read next; nil when all is handed out.
  /// - Parameters:
  ///   - newest: the largest seq ever put into a lane: one that has nothing new is passed over without a look at the disk.
  ///   - lastKnownIsDue: whether the newest of some topic waits behind a backlog.
  mutating func next(newest: (DeliveryLane) -> UInt64, lastKnownIsDue: Bool) -> Step? {
    if stateFirst {
      if lastKnownIsDue { return .lastKnown }
      if newest(.state) > cursor(.state) { return .lane(.state) }
      stateFirst = false
    }
    for lane in DeliveryLane.allCases {
      if lastKnownIsDue, LastKnown.concerns(lane) { return .lastKnown }
      if newest(lane) > cursor(lane) { return .lane(lane) }
    }
    return nil
  }
}

/// Knows of each retained topic in the lanes of histories which record is the newest: what is last known. Pure.
///
/// A history is delivered oldest first, but where a vehicle is now must not wait behind where it was. So the newest
/// retained record of a topic goes before the backlog, and the ones before it follow without their retain flag: whatever
/// order they come in, what the broker keeps never goes back.
struct LastKnown {
  struct Entry {
    var lane: DeliveryLane
    var place: UInt64
    /// Whether it is still to be handed out, as far as is known.
    var isDue: Bool
  }

  private(set) var entries: [String: Entry] = [:]

  /// Whether records of a lane make a history. Events stay in order whatever they are, and of a state there is one.
  static func concerns(_ lane: DeliveryLane) -> Bool { lane > .state }

  /// A record was accepted.
  mutating func observe(_ record: OutboxRecord) {
    guard record.retain, Self.concerns(record.lane) else { return }
    entries[record.topic] = Entry(lane: record.lane, place: record.seq, isDue: true)
  }

  /// A record was given another place. What had overtaken it stays the newest.
  mutating func observe(_ record: OutboxRecord, movedFrom old: UInt64) {
    if let entry = entries[record.topic], entry.place > old { return }
    observe(record)
  }

  /// What was last known, and is delivered, has another place.
  mutating func observe(topic: String, from old: UInt64, movedTo place: UInt64) {
    if entries[topic]?.place == old { entries[topic]?.place = place }
  }

  /// A place was found in a store.
  mutating func observe(topic: String, lane: DeliveryLane, place: UInt64, isDue: Bool) {
    if let known = entries[topic], known.place >= place { return }
    entries[topic] = Entry(lane: lane, place: place, isDue: isDue)
  }

  mutating func handedOut(_ topic: String) { entries[topic]?.isDue = false }

  /// Whether a newer record of the same topic has been accepted.
  func isOutdated(_ record: OutboxRecord) -> Bool {
    guard record.retain, Self.concerns(record.lane), let entry = entries[record.topic] else { return false }
    return entry.place > record.seq
  }

  /// Everything is offered again.
  mutating func rewind() {
    for topic in entries.keys { entries[topic]?.isDue = true }
  }
}
