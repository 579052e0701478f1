internal import Platform

/// Tells the threads whose loops turn from those that are stuck; pure, all time comes in.
///
/// A thread that waits for a sensor without data is well: it is called, and its loop turns. Only one that was called and
/// has not turned within the limit is stuck, unless it has said beforehand that it may take longer.
struct ProgressCheck: Sendable {
  /// What is known of a thread at the moment of a check.
  struct Sign: Sendable {
    var id: ObjectIdentifier
    var name: String
    var turns: Int
    /// ns, on the clock of the check; 0 for no excuse.
    var excusedUntil: Int64
  }

  private struct Call {
    var turns: Int
    var time: Int64
  }

  /// Nanoseconds that a called thread may take.
  private let limit: Int64
  private var calls: [ObjectIdentifier: Call] = [:]

  init(limit: Double) { self.limit = Int64(limit * 1e9) }

  /// Call all threads after each check.
  /// - Returns: the names of the threads that are stuck.
  mutating func check(_ signs: [Sign], at now: Int64) -> [String] {
    var stuck: [String] = []
    var next: [ObjectIdentifier: Call] = [:]
    for sign in signs {
      if let call = calls[sign.id], call.turns == sign.turns {
        next[sign.id] = call
        if now - call.time >= limit, now >= sign.excusedUntil { stuck.append(sign.name) }
      } else {
        next[sign.id] = Call(turns: sign.turns, time: now)
      }
    }
    calls = next
    return stuck
  }

  /// Looks at the threads of this process, and calls them.
  mutating func check(_ threads: [Heartbeat], at now: Int64) -> [String] {
    let signs = threads.map {
      Sign(id: ObjectIdentifier($0), name: $0.name, turns: $0.turns, excusedUntil: $0.excusedUntil)
    }
    defer { for thread in threads { thread.call() } }
    return check(signs, at: now)
  }
}
