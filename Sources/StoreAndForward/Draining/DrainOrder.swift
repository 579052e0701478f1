internal import Telemetry

/// Decides which records are read next, and from which lane. Pure.
struct DrainOrder {
  enum Step: Equatable {
    case lane(DeliveryLane)
    /// The newest record of each retained topic, before older ones.
    case lastKnown
  }

  /// For each lane, the largest position up to which records were read.
  private var cursors: [UInt64] = Array(repeating: 0, count: DeliveryLane.allCases.count)
  /// Largest position in each lane when reading started. Records up to it are the backlog, which the newest
  /// state overtakes. Nil before reading starts.
  private var backlogs: [UInt64]?
  private var stateFirst = true

  /// Restarts handing out, with the newest retained records and the state lane first.
  mutating func rewind() { self = DrainOrder() }

  func cursor(_ lane: DeliveryLane) -> UInt64 { cursors[lane.rawValue] }

  mutating func advance(_ lane: DeliveryLane, to seq: UInt64) {
    cursors[lane.rawValue] = max(cursors[lane.rawValue], seq)
  }

  /// Sets the backlog at the first reading after a rewind.
  /// - Parameters:
  ///   - newest: the largest position ever inserted into a lane.
  ///   - isShort: true for a lane whose records are all sent in order.
  mutating func begin(newest: (DeliveryLane) -> UInt64, isShort: (DeliveryLane) -> Bool) {
    if backlogs == nil { backlogs = DeliveryLane.allCases.map { isShort($0) ? 0 : newest($0) } }
  }

  /// Returns whether undelivered older records precede the record at a position.
  func isBehindBacklog(_ lane: DeliveryLane, _ place: UInt64) -> Bool {
    place > cursor(lane) && cursor(lane) < backlogs?[lane.rawValue] ?? 0
  }

  /// Returns the next step; nil if everything is handed out.
  /// - Parameters:
  ///   - newest: returns the largest position ever inserted into a lane. Lanes without new records are
  ///     skipped without a query.
  ///   - lastKnownIsDue: true if the newest record of some topic waits behind a backlog.
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

/// Tracks the newest record of each retained topic in the history lanes. Pure.
///
/// A history is delivered oldest first, but the current position must not wait behind a long backlog. Therefore
/// the newest retained record of a topic is delivered before such a backlog. The older ones follow without their
/// retain flag, so the broker's retained message never goes back in time, whatever the order of delivery. At the
/// end the newest is delivered again: consumers that show the last message they received then end with it. A
/// short backlog (`OutboxConfiguration.shortBacklog`) is sent in order, without a repetition.
struct LastKnown {
  struct Entry {
    var lane: DeliveryLane
    var place: UInt64
    /// True if the record may still have to be delivered.
    var isDue: Bool
    /// The record if it was delivered before older ones, for its repetition. It is held in memory: a program
    /// that restarts in between does not repeat it.
    var ahead: OutboxRecord?
    /// True if older records of the topic were delivered after `ahead`.
    var isFollowed = false
  }

  private(set) var entries: [String: Entry] = [:]

  /// Returns whether a lane contains histories. Events are always delivered in order, and the state lane has
  /// one record per topic.
  static func concerns(_ lane: DeliveryLane) -> Bool { lane > .state }

  /// Records that an accepted record is the newest of its topic.
  mutating func observe(_ record: OutboxRecord) {
    guard record.retain, Self.concerns(record.lane) else { return }
    entries[record.topic] = Entry(lane: record.lane, place: record.seq, isDue: true)
  }

  /// Updates the position of a moved record. If a newer record of the topic has overtaken it, that record
  /// remains the newest.
  mutating func observe(_ record: OutboxRecord, movedFrom old: UInt64) {
    if let entry = entries[record.topic], entry.place > old { return }
    observe(record)
  }

  /// Updates the position of a delivered record, if it is the newest of its topic.
  mutating func observe(topic: String, from old: UInt64, movedTo place: UInt64) {
    if entries[topic]?.place == old { entries[topic]?.place = place }
  }

  /// Records the position of a stored record if it is the newest of its topic.
  mutating func observe(topic: String, lane: DeliveryLane, place: UInt64, isDue: Bool) {
    if let known = entries[topic], known.place >= place { return }
    entries[topic] = Entry(lane: lane, place: place, isDue: isDue)
  }

  mutating func handedOut(_ topic: String) { entries[topic]?.isDue = false }

  /// Records that the newest record of a topic was delivered before older ones.
  mutating func handedOutAhead(_ record: OutboxRecord) {
    entries[record.topic]?.ahead = record
    entries[record.topic]?.isFollowed = false
  }

  /// Records that a record was delivered in order.
  mutating func handedOutInOrder(_ record: OutboxRecord) {
    guard let entry = entries[record.topic], entry.ahead != nil else { return }
    if entry.place == record.seq { entries[record.topic]?.ahead = nil }
    if entry.place > record.seq { entries[record.topic]?.isFollowed = true }
  }

  /// Returns records that must be repeated after all older ones were delivered, and forgets them.
  /// - Parameters:
  ///   - limit: the maximum number of records.
  ///   - isHeld: true for topics that are not delivered at the moment.
  mutating func takeRepetitions(_ limit: Int, isHeld: (String) -> Bool) -> [OutboxRecord] {
    let topics = entries.filter { $0.value.isFollowed && !isHeld($0.key) }.keys.sorted().prefix(limit)
    return topics.compactMap { topic in
      defer { entries[topic]?.ahead = nil }
      entries[topic]?.isFollowed = false
      return entries[topic]?.ahead
    }
  }

  /// Returns whether a newer record of the same topic has been accepted.
  func isOutdated(_ record: OutboxRecord) -> Bool {
    guard record.retain, Self.concerns(record.lane), let entry = entries[record.topic] else { return false }
    return entry.place > record.seq
  }

  /// Marks all records as due again.
  mutating func rewind() {
    for topic in entries.keys { entries[topic]?.isDue = true }
  }
}
