internal import Platform
internal import StoreAndForward

/// Decides which rejections by the broker are logged, and describes them for `status`. Pure.
struct RefusalLog {
  /// A line of the log.
  struct Line: Equatable {
    var topic: String
    var reason: String
    /// Number of rejections with this topic and reason since the previous line.
    var count: Int
    var isKept: Bool
  }

  private struct Entry {
    var count = 0
    var saidAt: MonotonicTime
  }

  private var entries: [String: Entry] = [:]
  private var last: (line: Line, at: MonotonicTime)?

  /// Minimum time in s between two lines about the same topic and reason. It is also the time after which a
  /// single rejection is no longer reported as a problem.
  private static let interval = 3600.0
  private static let capacity = 200

  /// Processes a rejection. Returns the line to log: for the first rejection with this topic and reason
  /// immediately, for later rejections a combined line per `interval`; nil if nothing must be logged now.
  mutating func observe(_ refusal: OutboxRefusal, reason: String, at now: MonotonicTime) -> Line? {
    var line = Line(topic: refusal.topic, reason: reason, count: 1, isKept: refusal.isKept)
    last = (line, now)
    let key = reason + "\n" + refusal.topic
    guard var entry = entries[key] else {
      guard entries.count < Self.capacity else { return nil }
      entries[key] = Entry(saidAt: now)
      return line
    }
    entry.count += 1
    guard now >= entry.saidAt.advanced(bySeconds: Self.interval) else {
      entries[key] = entry
      return nil
    }
    line.count = entry.count
    entries[key] = Entry(saidAt: now)
    return line
  }

  /// Describes the problem; nil if nothing was rejected recently.
  /// - Parameter topics: topics whose records wait because of rejections.
  func problem(waiting topics: [String], at now: MonotonicTime) -> String? {
    if let first = topics.first {
      let reason = last.flatMap { $0.line.isKept ? $0.line.reason : nil } ?? "not permitted"
      let others = topics.count > 1 ? " and \(topics.count - 1) more" : ""
      return "the broker refuses \(first)\(others): \(reason); stored for retry\(Self.remedy(for: reason))"
    }
    guard let last, !last.line.isKept, now < last.at.advanced(bySeconds: Self.interval) else { return nil }
    return "the broker refuses \(last.line.topic): \(last.line.reason); a dead letter"
      + Self.remedy(for: last.line.reason)
  }

  private static func remedy(for reason: String) -> String {
    reason.hasPrefix("not authorized") || reason.hasPrefix("not permitted")
      ? "; permit it in the broker's access list" : ""
  }
}
