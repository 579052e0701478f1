internal import Spatial

/// Speeds that other than inertial sensors have measured, beside what the inertial ones had added up by then.
struct SpeedWitness: Sendable {
  private struct Entry: Hashable {
    var timestamp: Timestamp
    /// m/s.
    var speed: Double
    var along: Double
  }

  private static let capacity = 16
  /// s beyond a manoeuvre that a speed is still of use for it.
  private static let reach = 1.6
  /// s between two entries: wheels on a bus tell more of them than are needed.
  private static let interval = 0.4

  private var entries: [Entry] = []

  mutating func reset() { entries.removeAll(keepingCapacity: true) }

  /// - Parameter along: m/s, the integral of the inertial acceleration along the way.
  mutating func add(speed: Double, at timestamp: Timestamp, along: Double) {
    if let last = entries.last {
      let step = timestamp.seconds(since: last.timestamp)
      if step < 0 { reset() } else if step < Self.interval { return }
    }
    if entries.count == Self.capacity { entries.removeFirst() }
    entries.append(Entry(timestamp: timestamp, speed: speed, along: along))
  }

  /// m/s²: the mean change of the speed through a time, as it was measured and as the inertial sensors have it; nil where there
  /// were no speeds on both sides of it.
  func change(from start: Timestamp, to end: Timestamp) -> (seen: Double, expected: Double)? {
    guard let first = entries.last(where: { $0.timestamp <= start }) ?? entries.first,
      let last = entries.first(where: { $0.timestamp >= end }) ?? entries.last
    else { return nil }
    let seconds = last.timestamp.seconds(since: first.timestamp)
    // Speeds must frame the manoeuvre closely, or other ones are in it.
    guard seconds >= Self.interval, start.seconds(since: first.timestamp) <= Self.reach,
      last.timestamp.seconds(since: end) <= Self.reach, first.timestamp <= end, last.timestamp >= start
    else { return nil }
    return ((last.speed - first.speed) / seconds, (last.along - first.along) / seconds)
  }
}
