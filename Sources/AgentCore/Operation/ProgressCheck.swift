package import Platform

/// Detects stuck threads. Pure: the caller provides all times.
///
/// A thread that waits for a sensor without data is not stuck, because it reacts to a wakeup. A thread counts
/// as stuck if it was woken and its loop has not started a new iteration within the limit, unless it has
/// announced a longer pause.
package struct ProgressCheck: Sendable {
  /// State of a thread at a check.
  package struct Sign: Sendable {
    var id: ObjectIdentifier
    var name: String
    var turns: Int
    /// End of an announced pause; the clock's start for none.
    var excusedUntil: MonotonicTime

    package init(id: ObjectIdentifier, name: String, turns: Int, excusedUntil: MonotonicTime) {
      (self.id, self.name, self.turns, self.excusedUntil) = (id, name, turns, excusedUntil)
    }
  }

  private struct Call {
    var turns: Int
    var time: MonotonicTime
  }

  /// Time limit in s for the reaction to a wakeup.
  private let limit: Double
  private var calls: [ObjectIdentifier: Call] = [:]

  package init(limit: Double) { self.limit = limit }

  /// Checks all threads. Wake all of them after each check.
  /// - Returns: the names of stuck threads.
  package mutating func check(_ signs: [Sign], at now: MonotonicTime) -> [String] {
    var stuck: [String] = []
    var next: [ObjectIdentifier: Call] = [:]
    for sign in signs {
      if let call = calls[sign.id], call.turns == sign.turns {
        next[sign.id] = call
        if now >= call.time.advanced(bySeconds: limit), now >= sign.excusedUntil { stuck.append(sign.name) }
      } else {
        next[sign.id] = Call(turns: sign.turns, time: now)
      }
    }
    calls = next
    return stuck
  }

  /// Checks the threads of this process, and wakes them.
  package mutating func check(_ threads: [Heartbeat], at now: MonotonicTime) -> [String] {
    let signs = threads.map {
      Sign(id: ObjectIdentifier($0), name: $0.name, turns: $0.turns, excusedUntil: $0.excusedUntil)
    }
    defer { for thread in threads { thread.call() } }
    return check(signs, at: now)
  }
}
