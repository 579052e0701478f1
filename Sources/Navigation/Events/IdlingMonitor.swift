internal import Spatial

/// A monitor for a running engine while the vehicle is at rest.
struct IdlingMonitor: Sendable {
  /// The speed in m/s above which the vehicle counts as driving. Slow motion in a queue is below this speed.
  private static let slowest = 1.0
  /// The time in s of driving, or with a stopped engine, after which the event ends.
  private static let release = 5.0

  private let limit: Double
  private var condition: LastingCondition
  private var isEngineRunning: Bool?
  private var isStanding: Bool?
  private var place: Coordinate?
  private var event: DrivingEvent?

  init(limit: Double) {
    self.limit = limit
    condition = LastingCondition(onset: limit, release: Self.release)
  }

  /// Updates the engine's state.
  ///
  /// - Parameter isRunning: nil if the vehicle does not report the state; no events are reported then.
  mutating func observe(isEngineRunning isRunning: Bool?, at now: Timestamp) -> DrivingEvent? {
    isEngineRunning = isRunning
    return advance(to: now)
  }

  mutating func observe(speed: Double, coordinate: Coordinate?, at now: Timestamp) -> DrivingEvent? {
    guard speed.isFinite else { return nil }
    isStanding = speed < Self.slowest
    if let coordinate { place = coordinate }
    return advance(to: now)
  }

  mutating func advance(to now: Timestamp) -> DrivingEvent? {
    guard let isEngineRunning, let isStanding else { return nil }
    switch condition.update(isEngineRunning && isStanding, at: now) {
    case .began(let since):
      let begun = DrivingEvent(
        .idling, start: since, duration: now.seconds(since: since), peak: now.seconds(since: since),
        limit: limit, severity: .low, confidence: 1, coordinate: place, speed: 0, isOngoing: true)
      event = begun
      return begun
    case .ended(let time): return end(at: time)
    case nil: return nil
    }
  }

  /// Ends an ongoing event, because the monitor stops.
  mutating func finish(at now: Timestamp) -> DrivingEvent? {
    defer { condition.reset() }
    return end(at: condition.end(at: now))
  }

  private mutating func end(at time: Timestamp) -> DrivingEvent? {
    guard var over = event else { return nil }
    event = nil
    over.isOngoing = false
    over.duration = max(0, time.seconds(since: over.start))
    over.peak = over.duration
    // Medium from a quarter of an hour, high from an hour, in which an idling car burns a litre of fuel.
    over.severity = over.duration >= 3600 ? .high : over.duration >= 900 ? .medium : .low
    return over
  }

  var nextDeadline: Timestamp? { condition.nextDeadline }
}
