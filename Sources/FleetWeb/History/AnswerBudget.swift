internal import Platform

/// A memory budget for responses that wait for their clients: a total number of bytes, of which one login can
/// use half, so that slow clients leave space for others. It never blocks, so a reader's thread is free as
/// soon as its query is complete.
package final class AnswerBudget: Sendable {
  private struct Held: Sendable {
    weak var pipe: AnswerPipe?
    let asker: String?
    var bytes = 0
    /// The time after which the response can be cancelled to give its space to another one.
    var until: MonotonicTime
  }

  private let most: Int
  private let timeout: Double
  private let held = Locked<[ObjectIdentifier: Held]>([:])

  /// Creates a budget.
  ///
  /// - Parameters:
  ///   - most: the total in bytes. A response can be larger if it is the only one.
  ///   - timeout: the seconds for which a response's space is guaranteed.
  package init(most: Int, timeout: Double) { (self.most, self.timeout) = (most, timeout) }

  package var bytes: Int { held.withLock { $0.values.reduce(0) { $0 + $1.bytes } } }

  /// Reserves bytes for a pipe, if necessary by cancelling responses whose guaranteed time is over. Returns
  /// false if there is not enough space.
  func admit(_ pipe: AnswerPipe, _ count: Int) -> Bool {
    if reserve(pipe, count) { return true }
    let now = MonotonicTime.now
    let overdue = held.withLock { held in held.values.filter { $0.until < now }.compactMap(\.pipe) }
    for other in overdue where other !== pipe { other.cancel() }
    return !overdue.isEmpty && reserve(pipe, count)
  }

  private func reserve(_ pipe: AnswerPipe, _ count: Int) -> Bool {
    let key = ObjectIdentifier(pipe)
    return held.withLock { held in
      let others = held.reduce(0) { $0 + ($1.key == key ? 0 : $1.value.bytes) }
      guard others == 0 || others + (held[key]?.bytes ?? 0) + count <= most else { return false }
      if others > 0, let asker = pipe.asker {
        let own = held.values.reduce(0) { $0 + ($1.asker == asker ? $1.bytes : 0) }
        guard own + count <= most / 2 else { return false }
      }
      let fresh = Held(pipe: pipe, asker: pipe.asker, until: .after(timeout))
      held[key, default: fresh].bytes += count
      return true
    }
  }

  /// Releases reserved bytes.
  func release(_ pipe: AnswerPipe, _ count: Int) {
    let key = ObjectIdentifier(pipe)
    held.withLock { held in
      held[key]?.bytes -= count
      if let left = held[key]?.bytes, left <= 0 { held[key] = nil }
    }
  }
}
