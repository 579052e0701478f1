internal import StoreAndForward

/// What the broker refuses: what is to be said of it in the log, and what in `status`. Pure; time is monotonic, in nanoseconds.
struct RefusalLog {
  /// A line for the log.
  struct Line: Equatable {
    var topic: String
    var reason: String
    /// Refusals of this kind since the line before.
    var count: Int
    var isKept: Bool
  }

  private struct Entry {
    var count = 0
    var saidAt: Int64
  }

  private var entries: [String: Entry] = [:]
  private var last: (line: Line, at: Int64)?

  /// Nanoseconds between two lines about the same topic and reason, and after which one refusal is no problem any more.
  private static let interval: Int64 = 3_600_000_000_000
  private static let capacity = 200

  /// Learns of a refusal; returns what to say: the first of a topic and reason at once, the others in sums.
  mutating func observe(_ refusal: OutboxRefusal, reason: String, at now: Int64) -> Line? {
    var line = Line(topic: refusal.topic, reason: reason, count: 1, isKept: refusal.isKept)
    last = (line, now)
    let key = reason + "\n" + refusal.topic
    guard var entry = entries[key] else {
      guard entries.count < Self.capacity else { return nil }
      entries[key] = Entry(saidAt: now)
      return line
    }
    entry.count += 1
    guard now - entry.saidAt >= Self.interval else {
      entries[key] = entry
      return nil
    }
    line.count = entry.count
    entries[key] = Entry(saidAt: now)
    return line
  }

  /// What is wrong, in a sentence; nil when nothing was refused lately.
  /// - Parameter topics: of which records wait because they are refused.
  func problem(waiting topics: [String], at now: Int64) -> String? {
    if let first = topics.first {
      let reason = last.flatMap { $0.line.isKept ? $0.line.reason : nil } ?? "not permitted"
      let others = topics.count > 1 ? " and \(topics.count - 1) more" : ""
      return "the broker refuses \(first)\(others): \(reason); kept for another attempt"
    }
    guard let last, !last.line.isKept, now - last.at < Self.interval else { return nil }
    return "the broker refuses \(last.line.topic): \(last.line.reason); a dead letter"
  }
}
