internal import Motion
internal import Sensors
internal import Spatial

/// Height from pressure through an outage: the barometer's changes, tied to the filter's height while there is a receiver.
struct PressureHeight: Sendable {
  /// A height and its variance: m, m².
  struct Measurement: Hashable, Sendable {
    var height: Double
    var variance: Double
  }

  private var trend = PressureTrend()
  /// The filter's height less that of the standard atmosphere (m), its variance (m²), and what else was so then.
  private var anchor: (offset: Double, variance: Double, level: Double, speed: Double, time: Double)?
  /// s that the receiver's height is followed, at most `averaging`.
  private var followed = 0.0

  /// s over which the offset is averaged, and before which it is not used.
  private static let (averaging, shortest) = (10.0, 5.0)

  mutating func reset() { self = PressureHeight() }

  /// Takes a pressure (Pa) at a time (s).
  ///
  /// - Parameters:
  ///   - height: m, the filter's, with its variance (m²).
  ///   - speed: m/s.
  ///   - isOutage: whether no receiver says the height.
  /// - Returns: what the pressure says of the height, when it is worth an update: once a second in an outage.
  mutating func process(
    pressure: Double, time: Double, height: Measurement, speed: Double, isOutage: Bool
  ) -> Measurement? {
    guard AltitudeFilter.pressures.contains(pressure),
      let level = trend.add(StandardAtmosphere.altitude(pressure: pressure), at: time)
    else { return nil }
    guard isOutage else {
      let own = height.height - level.height
      let seconds = anchor.map { level.time - $0.time } ?? 0
      if seconds > Self.averaging { followed = 0 }
      followed = min(Self.averaging, followed + min(1, max(0, seconds)))
      let offset = anchor.map { $0.offset + (own - $0.offset) / max(1, followed) } ?? own
      anchor = (offset, height.variance, level.height, speed, level.time)
      return nil
    }
    guard let anchor, followed >= Self.shortest else { return nil }
    func squared(_ value: Double) -> Double { value * value }
    let wind = AltitudeFilter.dynamicHeight(speed) - AltitudeFilter.dynamicHeight(anchor.speed)
    return Measurement(
      height: level.height + anchor.offset,
      variance: anchor.variance + squared(level.deviation) + squared(AltitudeFilter.cabin)
        + PressureDrift.variance(after: level.time - anchor.time)
        + squared(AltitudeFilter.scale * (level.height - anchor.level))
        + squared(AltitudeFilter.coefficient * wind))
  }
}
