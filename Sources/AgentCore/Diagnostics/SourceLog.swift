internal import Pipeline
internal import Sensors
internal import Spatial

/// Limits the log lines about a source that comes and goes, as with a loose contact. Below the limit every change is
/// logged. Of suppressed changes, the last one is logged as soon as the limit permits.
struct SourceLog {
  /// A change to log, and the number of changes of this source that were suppressed before it.
  struct Line {
    var status: SourceStatus
    var suppressed: Int
  }

  private struct Entry {
    var credit = MessageCredit()
    var pending: SourceStatus?
    var suppressed = 0

    mutating func drain(at now: Timestamp) -> Line? {
      credit.count(to: now)
      guard let status = pending, credit.isOpen else { return nil }
      credit.spend()
      defer { (pending, suppressed) = (nil, 0) }
      return Line(status: status, suppressed: suppressed)
    }
  }

  private var entries: [String: Entry] = [:]

  /// Processes a change. Returns the line to log; nil if it waits.
  mutating func observe(_ status: SourceStatus, at now: Timestamp) -> Line? {
    var entry = entries[status.source] ?? Entry()
    defer { entries[status.source] = entry }
    if entry.pending != nil { entry.suppressed += 1 }
    entry.pending = status
    return entry.drain(at: now)
  }

  /// Returns waiting lines that may be logged now.
  mutating func advance(to now: Timestamp) -> [Line] {
    guard entries.values.contains(where: { $0.pending != nil }) else { return [] }
    return entries.keys.sorted().compactMap { entries[$0]?.drain(at: now) }
  }
}
