internal import Platform

/// Limits the logging of library messages: each text once an hour, all texts in bursts of ten and then once a
/// minute. Pure.
struct LibraryMessageLimit {
  struct Line: Equatable {
    var text: String
    /// Number of lines omitted since the previous logged one.
    var leftOut: Int
  }

  private static let repetition = 3600.0
  private static let refill = 60.0
  private static let burst = 10.0
  /// Maximum number of remembered texts; `length` limits the characters of each.
  private static let capacity = 100
  private static let length = 300

  private var saidAt: [String: MonotonicTime] = [:]
  /// Time at which a full burst of `burst` lines may be logged again; nil before the first line.
  private var refilledAt: MonotonicTime?
  /// Number of lines omitted since the previous logged one.
  private(set) var leftOut = 0

  /// Returns the line to log; nil if it is omitted.
  mutating func admit(_ text: String, at now: MonotonicTime) -> Line? {
    if text.isEmpty { return nil }
    let full = max(refilledAt ?? now, now)
    func isRecent(_ time: MonotonicTime) -> Bool { now < time.advanced(bySeconds: Self.repetition) }
    let isRepeated = saidAt[text].map(isRecent) ?? false
    guard !isRepeated, full <= now.advanced(bySeconds: (Self.burst - 1) * Self.refill) else {
      leftOut += 1
      return nil
    }
    refilledAt = full.advanced(bySeconds: Self.refill)
    if saidAt.count >= Self.capacity { saidAt = saidAt.filter { isRecent($0.value) } }
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
