internal import Spatial

/// A monitor for speeds above the lowest limit in effect. It reports one event for each excess.
struct SpeedLimitMonitor: Sendable {
  struct Limit: Hashable, Sendable {
    /// The limit in m/s.
    var speed: Double
    /// The region to which the limit belongs; nil for the vehicle's own limit.
    var region: String?
  }

  /// The standard deviation in m/s of a speed without a stated error.
  private static let deviation = 0.3
  /// The time in s below the limit after which the event ends.
  private static let release = 3.0
  /// The age in s above which a speed is not used.
  private static let longestSilence = 10.0

  private let limits: DrivingEventLimits
  private var regions: [Limit] = []
  private var condition: LastingCondition
  private var event: DrivingEvent?
  /// Position and speed (m/s) at the start of an excess; nil without an excess.
  private var first: (coordinate: Coordinate?, speed: Double)?
  private var peak = 0.0
  private var newest: Timestamp?
  private var current: Limit?

  init(limits: DrivingEventLimits) {
    self.limits = limits
    condition = LastingCondition(onset: limits.speedTime, release: Self.release)
  }

  /// The lowest limit in effect.
  private var least: Limit? {
    let own = limits.speed.map { [Limit(speed: $0, region: nil)] } ?? []
    return (own + regions).filter { $0.speed.isFinite && $0.speed > 0 }.min { $0.speed < $1.speed }
  }

  /// Updates the limits of the regions that contain the vehicle. A change of the limit ends an ongoing event.
  mutating func observe(_ regions: [Limit], at now: Timestamp) -> DrivingEvent? {
    self.regions = regions
    guard least != current else { return nil }
    // An ongoing event is evaluated with the limit that was exceeded, so the new limit applies after it.
    defer { current = least }
    return end(at: now)
  }

  mutating func process(
    speed: Double, deviation: Double?, coordinate: Coordinate?, at now: Timestamp
  ) -> [DrivingEvent] {
    guard speed.isFinite, speed >= 0 else { return [] }
    var told: [DrivingEvent] = []
    if let newest, now.seconds(since: newest) > Self.longestSilence || now < newest {
      told += [end(at: newest)].compactMap { $0 }
    }
    newest = now
    if current == nil { current = least }
    guard let limit = current else { return told }
    let isOver = speed > limit.speed + (condition.isOn ? 0 : limits.speedMargin)
    if isOver {
      if first == nil { (first, peak) = ((coordinate, speed), 0) }
      peak = max(peak, speed)
      if var open = event {
        if speed > open.peak { open.confidence = certainty(speed, limit, deviation) }
        open.peak = peak
        event = open
      }
    } else if !condition.isOn {
      first = nil
    }
    switch condition.update(isOver, at: now) {
    case .began(let since):
      var begun = DrivingEvent(
        .overSpeed, start: since, duration: now.seconds(since: since), peak: peak, limit: limit.speed,
        severity: severity(limit), confidence: certainty(peak, limit, deviation),
        coordinate: first?.coordinate, speed: first?.speed, region: limit.region)
      begun.isOngoing = true
      event = begun
      told.append(begun)
    case .ended(let time): told += [end(at: time)].compactMap { $0 }
    case nil: break
    }
    return told
  }

  /// Ends an ongoing event, because the monitor stops.
  mutating func finish(at now: Timestamp) -> DrivingEvent? { end(at: condition.end(at: now)) }

  /// Ends an ongoing event.
  private mutating func end(at time: Timestamp) -> DrivingEvent? {
    condition.reset()
    first = nil
    guard var over = event else { return nil }
    event = nil
    over.isOngoing = false
    over.duration = max(0, time.seconds(since: over.start))
    over.severity = current.map { severity($0) } ?? over.severity
    return over
  }

  /// Returns the severity of an excess. The steps of 20 and 40 % follow most penal codes.
  private func severity(_ limit: Limit) -> DrivingEvent.Severity {
    peak >= 1.4 * limit.speed ? .high : peak >= 1.2 * limit.speed ? .medium : .low
  }

  private func certainty(_ speed: Double, _ limit: Limit, _ deviation: Double?) -> Double {
    chance(speed - limit.speed, deviation: max(0.1, deviation ?? Self.deviation))
  }
}
