internal import Spatial

/// A monitor for a disconnected external supply and for a low supply voltage.
struct SupplyMonitor: Sendable {
  /// The minimum durations in s of a disconnection (`unplugging`) and of a low voltage (`low`). Interruptions
  /// by a relay or by a loose plug on a bump are shorter. A starter motor lowers the voltage for 2 s and
  /// longer in the cold.
  private static let (unplugging, low) = (3.0, 60.0)
  /// The voltage rise above the limit in V, at which the event ends.
  private static let recovery = 0.4
  /// The standard deviation in V of a voltage from a board or a CAN bus.
  private static let deviation = 0.1

  private let limit: Double
  private var unplugged = LastingCondition(onset: unplugging, release: unplugging)
  private var isLow = LastingCondition(onset: low, release: low)
  /// True if a supply was connected at any time.
  private var hadPower = false
  private var events: [DrivingEvent.Kind: DrivingEvent] = [:]
  private var least = Double.infinity
  /// The last reported values; nil if unknown.
  private var reported: (hasPower: Bool?, voltage: Double?) = (nil, nil)
  var place: Coordinate?

  init(limit: Double) { self.limit = limit }

  /// Updates the state of the supply.
  ///
  /// - Parameter hasPower: true if an external supply is connected; nil if unknown. A device that was never
  ///   connected is not reported as unplugged.
  mutating func observe(hasExternalPower hasPower: Bool?, at now: Timestamp) -> DrivingEvent? {
    reported.hasPower = hasPower
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

  /// Updates the voltage.
  ///
  /// - Parameter voltage: the voltage of the vehicle's battery or the device's supply, V.
  mutating func observe(voltage: Double, at now: Timestamp) -> DrivingEvent? {
    guard voltage.isFinite, voltage > 0 else { return nil }
    reported.voltage = voltage
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

  /// Advances time with the last reported values.
  mutating func advance(to now: Timestamp) -> [DrivingEvent] {
    [
      observe(hasExternalPower: reported.hasPower, at: now),
      reported.voltage.flatMap { observe(voltage: $0, at: now) },
    ]
    .compactMap { $0 }
  }

  /// Ends ongoing events, because the monitor stops.
  mutating func finish(at now: Timestamp) -> [DrivingEvent] {
    let ends = (unplugged.end(at: now), isLow.end(at: now))
    unplugged.reset()
    isLow.reset()
    return [end(.unplugged, at: ends.0), end(.lowSupply, at: ends.1)].compactMap { $0 }
  }

  var nextDeadline: Timestamp? {
    [unplugged.nextDeadline, isLow.nextDeadline].compactMap { $0 }.min()
  }

  /// Medium from 4 % and high from 8 % below the limit. For a limit of 11.8 V these are 11.3 V, where a
  /// battery is empty, and 10.9 V, where it is damaged.
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
