internal import Platform

/// Memory for answers that were read and wait for their clients: so many bytes of all together, of which one login has half at
/// most, so that who takes nothing leaves room for others. Nobody waits for it: a reader's thread is free as soon as it has read.
final class AnswerBudget: Sendable {
  private struct Held: Sendable {
    weak var pipe: AnswerPipe?
    let asker: String?
    var bytes = 0
    /// On `SystemClock.monotonic`, ns, after which others may have its room.
    var until: Int64
  }

  private let most: Int
  private let patience: Int64
  private let held = Locked<[ObjectIdentifier: Held]>([:])

  /// - Parameters:
  ///   - most: bytes. A single answer may be longer, while there is no other.
  ///   - patience: seconds for which a client has its answer's room, whoever else wants it.
  init(most: Int, patience: Double) { (self.most, self.patience) = (most, Int64(patience * 1e9)) }

  var bytes: Int { held.withLock { $0.values.reduce(0) { $0 + $1.bytes } } }

  /// Returns whether there is room for so many bytes more; they are the pipe's then.
  func admit(_ pipe: AnswerPipe, _ count: Int) -> Bool {
    if reserve(pipe, count) { return true }
    let now = SystemClock.monotonic
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
      let fresh = Held(pipe: pipe, asker: pipe.asker, until: SystemClock.monotonic + patience)
      held[key, default: fresh].bytes += count
      return true
    }
  }

  /// Gives back bytes that were admitted.
  func release(_ pipe: AnswerPipe, _ count: Int) {
    let key = ObjectIdentifier(pipe)
    held.withLock { held in
      held[key]?.bytes -= count
      if let left = held[key]?.bytes, left <= 0 { held[key] = nil }
    }
  }
}
