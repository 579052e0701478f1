internal import Platform

/// Topics to which the broker currently forbids publishing, for example while its access list is being
/// corrected. Their records stay in the store and are retried after a pause that doubles. Pure.
struct Refusals {
  private struct Entry {
    var retryAt: MonotonicTime
    /// Pause in s.
    var pause: Double
  }

  private var entries: [String: Entry] = [:]

  /// First and longest pause in s between attempts.
  static let pauses = 60.0...3600
  /// Maximum number of topics; more than a vehicle uses.
  private static let capacity = 1000

  var topics: [String] { entries.keys.sorted() }

  /// Records a rejection. Returns false if there is no space for another topic.
  mutating func refused(_ topic: String, at now: MonotonicTime) -> Bool {
    if let entry = entries[topic] {
      // Rejections of other records of the topic do not extend a pause in progress.
      if now < entry.retryAt { return true }
      let pause = min(entry.pause * 2, Self.pauses.upperBound)
      entries[topic] = Entry(retryAt: now.advanced(bySeconds: pause), pause: pause)
      return true
    }
    guard entries.count < Self.capacity else { return false }
    let pause = Self.pauses.lowerBound
    entries[topic] = Entry(retryAt: now.advanced(bySeconds: pause), pause: pause)
    return true
  }

  /// Removes a topic after the broker accepted a record of it.
  mutating func taken(_ topic: String) { entries[topic] = nil }

  func isKnown(_ topic: String) -> Bool { !entries.isEmpty && entries[topic] != nil }

  /// Returns whether records of a topic must wait.
  func holds(_ topic: String, at now: MonotonicTime) -> Bool {
    guard !entries.isEmpty, let entry = entries[topic] else { return false }
    return now < entry.retryAt
  }

  /// Ends expired pauses. Returns whether any pause has ended since the last call.
  mutating func resume(at now: MonotonicTime) -> Bool {
    guard entries.contains(where: { $0.value.retryAt != .start && now >= $0.value.retryAt }) else {
      return false
    }
    for (topic, entry) in entries where now >= entry.retryAt { entries[topic]?.retryAt = .start }
    return true
  }

  /// Ends all pauses after a reconnection, because the broker's permissions may have changed.
  mutating func resumeAll() { for topic in entries.keys { entries[topic]?.retryAt = .start } }
}
