/// Which lines of libraries are worth the log: of each text one an hour, of all texts ten at once and then one a minute. Pure;
/// time is monotonic, in nanoseconds.
struct LibraryMessageLimit {
  struct Line: Equatable {
    var text: String
    /// Lines that were left out since the last one that was not.
    var leftOut: Int
  }

  private static let repetition: Int64 = 3_600_000_000_000
  private static let refill: Int64 = 60_000_000_000
  private static let burst: Int64 = 10
  /// How many texts are remembered, and characters of one.
  private static let capacity = 100
  private static let length = 300

  private var saidAt: [String: Int64] = [:]
  /// When all of the burst would be there again.
  private var refilledAt: Int64?
  /// Lines that were left out since the last one that was not.
  private(set) var leftOut = 0

  /// Returns what to log of a line; nil when it is left out.
  mutating func admit(_ text: String, at now: Int64) -> Line? {
    if text.isEmpty { return nil }
    let full = max(refilledAt ?? now, now)
    let isRepeated = saidAt[text].map { now - $0 < Self.repetition } ?? false
    guard !isRepeated, full - now <= (Self.burst - 1) * Self.refill else {
      leftOut += 1
      return nil
    }
    refilledAt = full + Self.refill
    if saidAt.count >= Self.capacity { saidAt = saidAt.filter { now - $0.value < Self.repetition } }
    if saidAt.count < Self.capacity { saidAt[text] = now }
    defer { leftOut = 0 }
    return Line(text: text, leftOut: leftOut)
  }

  /// A line as text that a terminal can be shown: no control characters, and not more than fits a log.
  static func cleaned(_ bytes: some Collection<UInt8>) -> String {
    let text = String(decoding: bytes.prefix(4 * length), as: UTF8.self)
    let characters = text.unicodeScalars.prefix(length).map { scalar in
      scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
        ? " " : Character(scalar)
    }
    var trimmed = characters[...]
    while trimmed.last == " " { trimmed.removeLast() }
    while trimmed.first == " " { trimmed.removeFirst() }
    return String(trimmed)
  }
}
