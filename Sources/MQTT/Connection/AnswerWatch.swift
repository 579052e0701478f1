internal import Platform

/// Detects a broker that does not answer requests of one kind, although the connection otherwise works. Pure.
///
/// While requests are unanswered, the connection is examined at regular intervals. Progress is an answer to the
/// oldest request, a part of the requests that arrived at the broker over a slow link, or a received message,
/// because the answer may follow it.
struct AnswerWatch {
  /// State of the connection.
  struct Look {
    /// Identifier of the oldest unanswered request; nil if all were answered.
    var oldest: UInt64?
    /// Number of bytes that the broker's machine has received; nil if unavailable.
    var arrived: Int?
    /// Number of bytes passed to the kernel; nil if unavailable, and while the library has unwritten data.
    var written: Int?
    /// Number of messages received.
    var received: Int
  }

  /// Time in s without progress after which requests count as unanswered.
  private let limit: Double
  private var last: Look?
  private var lookedAt = MonotonicTime.start
  private var progressAt = MonotonicTime.start
  /// Value of `arrived` at which the broker has received the oldest request; nil if unknown.
  private var target: Int?

  init(limit: Double) { self.limit = limit }

  /// Time of the next examination if requests are unanswered.
  var due: MonotonicTime { lookedAt.advanced(bySeconds: limit / 4) }

  /// Processes the state of the connection. Returns true if the broker does not answer.
  mutating func observe(_ look: Look, at now: MonotonicTime) -> Bool {
    let (before, gap) = (last, now.seconds(since: lookedAt))
    (last, lookedAt) = (look, now)
    // After a long gap, answers may not have been read yet.
    guard let before, let oldest = look.oldest, before.oldest == oldest, gap < limit / 2 else {
      (progressAt, target) = (now, look.written)
      return false
    }
    var isDraining = false
    if let arrived = look.arrived, let earlier = before.arrived {
      isDraining = arrived > earlier && earlier < target ?? .max
    }
    target = target ?? look.written
    if isDraining || look.received > before.received { progressAt = now }
    return now.seconds(since: progressAt) >= limit
  }
}
