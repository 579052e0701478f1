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

  /// The lanes in the order in which they are to be asked. `newest` is the largest seq ever put into each:
  /// lanes that have nothing new are left out without a look at the disk.
  mutating func lanes(newest: [UInt64]) -> [Lane] {
    let waiting = Lane.allCases.filter { newest[$0.rawValue] > cursors[$0.rawValue] }
    if stateFirst && waiting.contains(.state) { return [.state] + waiting.filter { $0 != .state } }
    stateFirst = false
    return waiting
  }
}
