/// Limits the logging of library messages: each text once an hour, all texts in bursts of ten and then once a
/// minute. Pure; time is monotonic, in ns.
struct LibraryMessageLimit {
  struct Line: Equatable {
    var text: String
    /// Number of lines omitted since the previous logged one.
    var leftOut: Int
  }

  private static let repetition: Int64 = 3_600_000_000_000
  private static let refill: Int64 = 60_000_000_000
  private static let burst: Int64 = 10
  /// Maximum number of remembered texts; `length` limits the characters of each.
  private static let capacity = 100
  private static let length = 300

  private var saidAt: [String: Int64] = [:]
  /// Time at which a full burst of `burst` lines may be logged again; nil before the first line.
  private var refilledAt: Int64?
  /// Number of lines omitted since the previous logged one.
  private(set) var leftOut = 0

  /// Returns the line to log; nil if it is omitted.
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

  /// Returns a line without control characters, limited to the length of a log line.
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
