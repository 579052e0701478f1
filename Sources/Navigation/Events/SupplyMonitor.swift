internal import Spatial

/// Tells when the external supply is taken away, and when its voltage is low.
struct SupplyMonitor: Sendable {
  /// s: a relay or a loose plug in a bump is shorter; a starter motor pulls the voltage down for 2 s and more in the cold.
  private static let (unplugging, low) = (3.0, 60.0)
  /// V by which it must have risen to be over.
  private static let recovery = 0.4
  /// V, one deviation of what a board or a bus says.
  private static let deviation = 0.1

  private let limit: Double
  private var unplugged = LastingCondition(onset: unplugging, release: unplugging)
  private var isLow = LastingCondition(onset: low, release: low)
  /// Without a supply once there was one.
  private var hadPower = false
  private var events: [DrivingEvent.Kind: DrivingEvent] = [:]
  private var least = Double.infinity
  /// As they were said last.
  private var said: (hasPower: Bool?, voltage: Double?) = (nil, nil)
  var place: Coordinate?

  init(limit: Double) { self.limit = limit }

  /// - Parameter hasPower: nil where nobody says. A device that never had one is not unplugged.
  mutating func observe(hasExternalPower hasPower: Bool?, at now: Timestamp) -> DrivingEvent? {
    said.hasPower = hasPower
    if hasPower == true { hadPower = true }
    guard hadPower else { return nil }
    switch unplugged.update(hasPower.map { !$0 }, at: now) {
    case .began(let since):
      return begin(
        DrivingEvent(
          .unplugged, start: since, duration: now.seconds(since: since), peak: 0, limit: 0, severity: .high,
          confidence: 1, coordinate: place, isOngoing: true))
    case .ended(let time): return end(.unplugged, at: time)
    case nil: return nil
    }
  }

  /// - Parameter voltage: V of the vehicle's battery or of the device's supply.
  mutating func observe(voltage: Double, at now: Timestamp) -> DrivingEvent? {
    guard voltage.isFinite, voltage > 0 else { return nil }
    said.voltage = voltage
    let holds = voltage < limit + (isLow.isOn ? Self.recovery : 0)
    if holds { least = min(least, voltage) } else if !isLow.isOn { least = .infinity }
    events[.lowSupply]?.peak = least
    switch isLow.update(holds, at: now) {
    case .began(let since):
      return begin(
        DrivingEvent(
          .lowSupply, start: since, duration: now.seconds(since: since), peak: least, limit: limit,
          severity: severity, confidence: chance(limit - least, deviation: Self.deviation), coordinate: place,
          isOngoing: true))
    case .ended(let time): return end(.lowSupply, at: time)
    case nil: return nil
    }
  }

  /// Lets time pass: what was said last still holds.
  mutating func advance(to now: Timestamp) -> [DrivingEvent] {
    [
      observe(hasExternalPower: said.hasPower, at: now),
      said.voltage.flatMap { observe(voltage: $0, at: now) },
    ]
    .compactMap { $0 }
  }

  /// Ends what goes on, as nobody looks any longer.
  mutating func finish(at now: Timestamp) -> [DrivingEvent] {
    let ends = (unplugged.end(at: now), isLow.end(at: now))
    unplugged.reset()
    isLow.reset()
    return [end(.unplugged, at: ends.0), end(.lowSupply, at: ends.1)].compactMap { $0 }
  }

  var nextDeadline: Timestamp? {
    [unplugged.nextDeadline, isLow.nextDeadline].compactMap { $0 }.min()
  }

  /// 4 and 8 % below: of 11.8 V 11.3, where a battery is empty, and 10.9, where it takes harm.
  private var severity: DrivingEvent.Severity {
    least < 0.92 * limit ? .high : least < 0.96 * limit ? .medium : .low
  }

  private mutating func begin(_ event: DrivingEvent) -> DrivingEvent {
    events[event.kind] = event
    return event
  }

  private mutating func end(_ kind: DrivingEvent.Kind, at time: Timestamp) -> DrivingEvent? {
    guard var over = events.removeValue(forKey: kind) else { return nil }
    over.isOngoing = false
    over.duration = max(0, time.seconds(since: over.start))
    if kind == .lowSupply { (over.severity, least) = (severity, .infinity) }
    return over
  }
}
