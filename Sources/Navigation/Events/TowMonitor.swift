internal import Spatial

/// Tells when a vehicle moves whose ignition is known to be off: on a hook, on a lorry, on a ferry.
struct TowMonitor: Sendable {
  /// Positions in a row that must be away: a receiver that wakes begins with bad ones.
  private static let positionsNeeded = 3
  /// m/s of a receiver or of wheels that a parked vehicle never has, and s that they must last.
  private static let (speed, time) = (2.0, 5.0)
  /// s that it must stand after a tow to have been set down.
  private static let release = 120.0
  /// Times its stated radius that a position must be away.
  private static let radii = 3.0

  private let limit: Double
  private var isParked = false
  private var home: (coordinate: Coordinate, accuracy: Double)?
  private var away = 0
  private var moving = LastingCondition(onset: time, release: release)
  private var event: DrivingEvent?

  init(limit: Double) { self.limit = limit }

  /// - Parameter isParked: whether the ignition is known to be off. Where nobody says, a drive is no tow.
  mutating func observe(isParked: Bool, at now: Timestamp) -> DrivingEvent? {
    guard isParked != self.isParked else { return nil }
    self.isParked = isParked
    home = nil
    return end(at: now)
  }

  /// Takes a position: metres that hold 68 % of its errors, and m/s.
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

  /// Ends what goes on, as nobody looks any longer.
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
