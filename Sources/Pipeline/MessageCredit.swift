package import Spatial

/// Limits a rate: a burst of `burst` messages, and then one per `interval`.
package struct MessageCredit: Sendable {
  static let burst = 6.0
  /// Time in s after which one more message is permitted.
  package static let interval = 60.0

  private var left = burst
  /// Time up to which `left` was counted; nil before the first time.
  private var counted: Timestamp?

  package init() {}

  package mutating func count(to now: Timestamp) {
    let passed = counted.map { max(0, now.seconds(since: $0)) } ?? 0
    left = min(Self.burst, left + passed / Self.interval)
    counted = max(now, counted ?? now)
  }

  package mutating func spend() { left = max(0, left - 1) }

  /// True if a message is permitted. The tolerance covers rounding errors of the sum.
  package var isOpen: Bool { left > 1 - 1e-6 }

  /// Time at which a message is permitted; nil before the first `count`.
  package var opening: Timestamp? {
    counted?.advanced(bySeconds: max(0, 1 - left) * Self.interval)
  }
}
