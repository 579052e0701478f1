/// Topics to which the broker lets nobody publish for now, as a broker whose access list is being set right: what waits for them
/// stays where it is, and is tried again after a pause that doubles. Pure; time is monotonic, in nanoseconds.
struct Refusals {
  private struct Entry {
    var retryAt: Int64
    /// Seconds.
    var pause: Double
  }

  private var entries: [String: Entry] = [:]

  /// Seconds to the first and between later attempts.
  static let pauses = 60.0...3600
  /// More than a vehicle publishes to.
  private static let capacity = 1000

  var topics: [String] { entries.keys.sorted() }

  /// A record of the topic was refused. Returns false when there is no room for another topic.
  mutating func refused(_ topic: String, at now: Int64) -> Bool {
    if let entry = entries[topic] {
      // One pause for all that were under way.
      if now < entry.retryAt { return true }
      let pause = min(entry.pause * 2, Self.pauses.upperBound)
      entries[topic] = Entry(retryAt: now + Int64(pause * 1e9), pause: pause)
      return true
    }
    guard entries.count < Self.capacity else { return false }
    let pause = Self.pauses.lowerBound
    entries[topic] = Entry(retryAt: now + Int64(pause * 1e9), pause: pause)
    return true
  }

  /// The broker has taken a record of the topic.
  mutating func taken(_ topic: String) { entries[topic] = nil }

  func isKnown(_ topic: String) -> Bool { !entries.isEmpty && entries[topic] != nil }

  /// Whether records of the topic stay where they are.
  func holds(_ topic: String, at now: Int64) -> Bool {
    guard !entries.isEmpty, let entry = entries[topic] else { return false }
    return now < entry.retryAt
  }

  /// A pause is over. Returns whether there was one, since the last call.
  mutating func resume(at now: Int64) -> Bool {
    guard entries.contains(where: { $0.value.retryAt != 0 && now >= $0.value.retryAt }) else { return false }
    for (topic, entry) in entries where now >= entry.retryAt { entries[topic]?.retryAt = 0 }
    return true
  }

  /// There is another connection: who refused may have been set right.
  mutating func resumeAll() { for topic in entries.keys { entries[topic]?.retryAt = 0 } }
}
