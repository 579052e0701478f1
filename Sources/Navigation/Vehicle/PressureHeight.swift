internal import Motion
internal import Sensors
internal import Spatial

/// A barometric height for outages: changes of the pressure, relative to the filter's height while a receiver
/// was available.
struct PressureHeight: Sendable {
  /// A height in m and its variance in m².
  struct Measurement: Hashable, Sendable {
    var height: Double
    var variance: Double
  }

  private var trend = PressureTrend()
  /// The difference between the filter's height and that of the standard atmosphere (m), with the variance of
  /// the filter's height (m²). Also the barometric height (m), the speed (m/s) and the time (s) of that
  /// difference.
  private var anchor: (offset: Double, variance: Double, level: Double, speed: Double, time: Double)?
  /// The time in s over which `anchor` was averaged, at most `averaging`.
  private var followed = 0.0

  /// The averaging time of the offset in s, and the time in s after which the offset is used.
  private static let (averaging, shortest) = (10.0, 5.0)

  mutating func reset() { self = PressureHeight() }

  /// Processes a pressure (Pa) at a time (s).
  ///
  /// - Parameters:
  ///   - height: the filter's height in m and its variance in m².
  ///   - speed: speed of the vehicle in m/s.
  ///   - isOutage: true if the receiver provides no height.
  /// - Returns: a height for an update, once a second during an outage; nil otherwise.
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
