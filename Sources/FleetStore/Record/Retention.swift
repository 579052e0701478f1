package import Spatial

/// The schedule for deleting old data: at the start, and every hour. A pure value type.
package struct Retention: Hashable, Sendable {
  /// The number of full days to retain in addition to the current day; nil to retain all data.
  package let days: Int?
  private var next: UTCTime?

  /// The interval in s between two deletions.
  package static let interval = 3600.0

  package init(days: Int?) { self.days = days }

  /// Returns the first day to retain, and the current day, if a deletion is due; nil otherwise.
  package mutating func due(at now: UTCTime) -> (limit: Day, today: Day)? {
    guard let days else { return nil }
    // If the clock was set back by hours, the deletion is due immediately instead of after that time.
    if let next, now < next, now > next.advanced(bySeconds: -2 * Self.interval) { return nil }
    next = now.advanced(bySeconds: Self.interval)
    let today = Day(now)
    return (Day(number: today.number - days), today)
  }

  package static func sentence(_ expiry: StoreExpiry, before day: Day) -> String {
    "deleted messages before \(day.text): \(expiry.partitions) partitions, \(expiry.rows) other rows"
  }
}
