internal import Spatial

/// Lets one through in every interval, on a grid that does not drift.
struct IntervalGate: Sendable {
  /// Seconds.
  let interval: Double
  private var next: Timestamp?

  init(interval: Double) {
    self.interval = interval
  }

  mutating func isOpen(at timestamp: Timestamp) -> Bool {
    guard let next else {
      self.next = timestamp.advanced(bySeconds: interval)
      return true
    }
    guard timestamp >= next else { return false }
    let following = next.advanced(bySeconds: interval)
    // After a silence longer than an interval the grid starts anew, so that nothing comes in a burst.
    self.next = following > timestamp ? following : timestamp.advanced(bySeconds: interval)
    return true
  }
}
