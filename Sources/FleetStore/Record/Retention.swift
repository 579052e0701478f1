internal import Spatial

/// When a store is to delete what is too old: at the start, and each hour. Pure.
struct Retention: Hashable, Sendable {
  /// Whole days that are kept beside today's; nil for all.
  let days: Int?
  private var next: UTCTime?

  /// Seconds between two looks.
  static let interval = 3600.0

  init(days: Int?) { self.days = days }

  /// The first day that is kept, when it is time to look; nil otherwise.
  mutating func due(at now: UTCTime) -> (limit: Day, today: Day)? {
    guard let days else { return nil }
    // A clock that is set back does not put it off.
    if let next, now < next, now > next.advanced(bySeconds: -2 * Self.interval) { return nil }
    next = now.advanced(bySeconds: Self.interval)
    let today = Day(now)
    return (Day(number: today.number - days), today)
  }

  static func sentence(_ expiry: StoreExpiry, before day: Day) -> String {
    "deleted what is before \(day.text): \(expiry.partitions) partitions, \(expiry.rows) other rows"
  }
}
