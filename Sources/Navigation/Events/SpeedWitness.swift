internal import Spatial

/// Speeds of non-inertial sensors, paired with the integrated inertial acceleration at their times.
struct SpeedWitness: Sendable {
  private struct Entry: Hashable {
    var timestamp: Timestamp
    /// The speed in m/s.
    var speed: Double
    var along: Double
  }

  private static let capacity = 16
  /// The maximum time in s between a manoeuvre and the speeds used for it, before and after the manoeuvre.
  private static let reach = 1.6
  /// The minimum interval between two entries in s; wheels on CAN report more frequently than necessary.
  private static let interval = 0.4

  private var entries: [Entry] = []

  mutating func reset() { entries.removeAll(keepingCapacity: true) }

  /// Adds a speed.
  ///
  /// - Parameter along: the integral of the inertial forward acceleration, m/s.
  mutating func add(speed: Double, at timestamp: Timestamp, along: Double) {
    if let last = entries.last {
      let step = timestamp.seconds(since: last.timestamp)
      if step < 0 { reset() } else if step < Self.interval { return }
    }
    if entries.count == Self.capacity { entries.removeFirst() }
    entries.append(Entry(timestamp: timestamp, speed: speed, along: along))
  }

  /// Returns the mean acceleration in m/s² over a time range, by speeds (`seen`) and by the inertial sensors
  /// (`expected`). Nil unless speeds exist before and after the time range.
  func change(from start: Timestamp, to end: Timestamp) -> (seen: Double, expected: Double)? {
    guard let first = entries.last(where: { $0.timestamp <= start }) ?? entries.first,
      let last = entries.first(where: { $0.timestamp >= end }) ?? entries.last
    else { return nil }
    let seconds = last.timestamp.seconds(since: first.timestamp)
    // The speeds must be close to the start and the end of the manoeuvre, so that no other manoeuvre lies
    // between them.
    guard seconds >= Self.interval, start.seconds(since: first.timestamp) <= Self.reach,
      last.timestamp.seconds(since: end) <= Self.reach, first.timestamp <= end, last.timestamp >= start
    else { return nil }
    return ((last.speed - first.speed) / seconds, (last.along - first.along) / seconds)
  }
}
