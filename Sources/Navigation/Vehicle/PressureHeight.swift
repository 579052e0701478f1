internal import Glibc

/// Height from pressure through an outage: the barometer's changes, tied to the filter's height while there is a receiver.
struct PressureHeight: Hashable, Sendable {
  /// m: the filter's height less that of the standard atmosphere, and since how many seconds it is followed.
  private var offset: Double?
  private var lastTime = 0.0
  private var followed = 0.0

  mutating func reset() { self = PressureHeight() }

  /// m in the standard atmosphere (ICAO 1993).
  static func standardHeight(pressure: Double) -> Double {
    44_330.77 * (1 - pow(pressure / 101_325, 0.190_263))
  }

  /// Takes a pressure (Pa) at a time (s).
  ///
  /// - Parameters:
  ///   - height: m, the filter's.
  ///   - outage: s since the last fix; nil while the receiver says the height.
  /// - Returns: m of height and its deviation, when it is worth an update.
  mutating func process(
    pressure: Double, time: Double, height: Double, outage: Double?
  ) -> (height: Double, deviation: Double)? {
    guard pressure > 10_000, pressure < 120_000 else { return nil }
    let standard = Self.standardHeight(pressure: pressure)
    let interval = time - lastTime
    guard interval > 0 else { return nil }
    guard let outage else {
      // Weather and the receiver's own wandering: half a minute averages both.
      followed = min(30, followed + min(interval, 5))
      let own = height - standard
      offset = offset.map { $0 + min(1, interval / followed) * (own - $0) } ?? own
      lastTime = time
      return nil
    }
    // Ventilation and wind change the pressure by 20 Pa from one second to the next: errors that last.
    guard let offset, followed > 5, interval >= 1 else { return nil }
    lastTime = time
    return (standard + offset, 2 + 0.005 * outage)
  }
}
