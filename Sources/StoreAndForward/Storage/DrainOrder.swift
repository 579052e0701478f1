/// What is read next, and from where. Pure.
struct DrainOrder {
  enum Step: Equatable {
    case lane(Lane)
    /// The newest of each retained topic, ahead of the history that it belongs to.
    case lastKnown
  }

  /// The largest seq handed out of each lane.
  private var cursors: [UInt64] = Array(repeating: 0, count: Lane.allCases.count)
  /// What waited in each lane when reading began: the backlog, which live state overtakes. Nil before reading begins.
  private var backlogs: [UInt64]?
  private var stateFirst = true

  /// Everything is to be handed out again, what is last known and the state lane first.
  mutating func rewind() { self = DrainOrder() }

  func cursor(_ lane: Lane) -> UInt64 { cursors[lane.rawValue] }

  mutating func handedOut(_ lane: Lane, upTo seq: UInt64) {
    cursors[lane.rawValue] = max(cursors[lane.rawValue], seq)
  }

  /// Takes note of what waits, at the first reading after a rewind.
  /// - Parameter newest: the largest seq ever put into a lane.
  mutating func begin(newest: (Lane) -> UInt64) {
    if backlogs == nil { backlogs = Lane.allCases.map(newest) }
  }

  /// Whether the record at a place would wait behind a backlog.
  func isBehindBacklog(_ lane: Lane, _ place: UInt64) -> Bool {
    place > cursor(lane) && cursor(lane) < backlogs?[lane.rawValue] ?? 0
  }

  /// What to read next; nil when all is handed out.
  /// - Parameters:
  ///   - newest: the largest seq ever put into a lane: one that has nothing new is passed over without a look at the disk.
  ///   - lastKnownIsDue: whether the newest of some topic waits behind a backlog.
  mutating func next(newest: (Lane) -> UInt64, lastKnownIsDue: Bool) -> Step? {
    if stateFirst {
      if lastKnownIsDue { return .lastKnown }
      if newest(.state) > cursor(.state) { return .lane(.state) }
      stateFirst = false
    }
    for lane in Lane.allCases {
      if lastKnownIsDue, LastKnown.concerns(lane) { return .lastKnown }
      if newest(lane) > cursor(lane) { return .lane(lane) }
    }
    return nil
  }
}
