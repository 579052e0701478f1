/// Which lane is read next, and from where. Pure.
struct DrainOrder {
  /// The largest seq handed out of each lane.
  private var cursors: [UInt64] = Array(repeating: 0, count: Lane.allCases.count)
  private var stateFirst = true

  /// Everything is to be handed out again, the state lane first.
  mutating func rewind() { self = DrainOrder() }

  func cursor(_ lane: Lane) -> UInt64 { cursors[lane.rawValue] }

  mutating func handedOut(_ lane: Lane, upTo seq: UInt64) {
    cursors[lane.rawValue] = max(cursors[lane.rawValue], seq)
  }

  /// The lane to read next; nil when all is handed out.
  /// - Parameter newest: the largest seq ever put into a lane: one that has nothing new is passed over
  ///   without a look at the disk.
  mutating func nextLane(newest: (Lane) -> UInt64) -> Lane? {
    if stateFirst {
      if newest(.state) > cursor(.state) { return .state }
      stateFirst = false
    }
    return Lane.allCases.first { newest($0) > cursor($0) }
  }
}
