internal import Spatial

/// A monitor for a vehicle that moves with its ignition off, because it is towed, or is on a lorry or ferry.
struct TowMonitor: Sendable {
  /// The number of consecutive positions away from the parking position that are required, because the first
  /// positions of a receiver are inaccurate.
  private static let positionsNeeded = 3
  /// The speed of receiver or wheels in m/s that no parked vehicle has, and the minimum time in s for which
  /// it must last.
  private static let (speed, time) = (2.0, 5.0)
  /// The time at rest in s after which a tow has ended.
  private static let release = 120.0
  /// The minimum distance of a position from the parking position, in multiples of the position's stated
  /// radius.
  private static let radii = 3.0

  private let limit: Double
  private var isParked = false
  private var home: (coordinate: Coordinate, accuracy: Double)?
  private var away = 0
  private var moving = LastingCondition(onset: time, release: release)
  private var event: DrivingEvent?

  init(limit: Double) { self.limit = limit }

  /// Updates the parking state.
  ///
  /// - Parameter isParked: true if the ignition is known to be off. Without an ignition signal, no motion
  ///   counts as a tow.
  mutating func observe(isParked: Bool, at now: Timestamp) -> DrivingEvent? {
    guard isParked != self.isParked else { return nil }
    self.isParked = isParked
    home = nil
    return end(at: now)
  }

  /// Processes a position with its 68 % radius (m) and speed (m/s).
  mutating func process(
    _ coordinate: Coordinate, accuracy: Double?, speed: Double?, at now: Timestamp
  ) -> DrivingEvent? {
    guard isParked, coordinate.isValid else { return nil }
    let radius = accuracy ?? 10
    let change = moving.update(speed.map { $0 > Self.speed && $0 > radius / 30 }, at: now)
    guard let home else {
      self.home = (coordinate, radius)
      return nil
    }
    let distance = home.coordinate.distance(to: coordinate)
    let isAway = distance > limit + Self.radii * (radius + home.accuracy)
    away = isAway ? away + 1 : 0
    if var open = event {
      open.peak = max(open.peak, distance)
      event = open
      if case .ended(let time) = change { return end(at: time) }
      return nil
    }
    if !isAway, radius < home.accuracy, !moving.isOn { self.home = (coordinate, radius) }
    let start: Timestamp
    if case .began(let since) = change {
      start = since
    } else if away >= Self.positionsNeeded {
      start = now
    } else {
      return nil
    }
    let begun = DrivingEvent(
      .tow, start: start, duration: now.seconds(since: start), peak: distance, limit: limit,
      severity: .high, confidence: chance(distance - radius, deviation: radius + home.accuracy),
      coordinate: home.coordinate, speed: speed, isOngoing: true)
    event = begun
    return begun
  }

  /// Ends an ongoing event, because the monitor stops.
  mutating func finish(at now: Timestamp) -> DrivingEvent? { end(at: moving.end(at: now)) }

  private mutating func end(at time: Timestamp) -> DrivingEvent? {
    away = 0
    home = nil
    moving.reset()
    guard var over = event else { return nil }
    event = nil
    over.isOngoing = false
    over.duration = max(0, time.seconds(since: over.start))
    return over
  }
}
