internal import Platform
internal import Sensors
internal import Spatial

/// The schedule of a radio's scans: immediately on a new demand, then at the interval of the demand, and with
/// a back-off after a failure.
///
/// A duty cycle is one scan per period. The minimum interval between two scans is 5 s for any demand.
struct ScanSchedule: Sendable {
  /// The minimum interval in s between the starts of two scans.
  static let shortestInterval = 5.0
  /// The interval in s between the starts of two scans; nil without a demand.
  private(set) var interval: Double?

  private var wantedSince: Timestamp?
  private var lastStart: Timestamp?
  private var retry: Timestamp?
  private var backoff = Backoff(floor: 10, base: 20, limit: 600)

  /// Sets the demand from now on. Repeated calls have no effect.
  mutating func setDemand(_ demand: SensorDemand, at now: Timestamp) {
    let interval = Self.interval(of: demand)
    guard interval != self.interval else { return }
    if self.interval == nil { wantedSince = now }
    self.interval = interval
  }

  /// The time of the next scan; nil without a demand.
  var due: Timestamp? {
    guard let interval, let wantedSince else { return nil }
    if let retry { return max(retry, wantedSince) }
    guard let lastStart else { return wantedSince }
    let next = lastStart.advanced(bySeconds: interval)
    // A new demand requires an immediate scan.
    return lastStart < wantedSince
      ? max(wantedSince, lastStart.advanced(bySeconds: Self.shortestInterval)) : next
  }

  /// Records the start of a scan.
  mutating func begin(at now: Timestamp) { lastStart = now }

  /// Records a successful scan.
  mutating func succeed() {
    retry = nil
    backoff.reset()
  }

  /// Records a failed scan.
  mutating func fail(at now: Timestamp, using generator: inout some RandomNumberGenerator) {
    retry = now.advanced(bySeconds: backoff.next(using: &generator))
  }

  private static func interval(of demand: SensorDemand) -> Double? {
    let seconds: Double
    switch demand {
    case .off: return nil
    case .rate(let hertz, _):
      guard hertz > 0 else { return nil }
      seconds = 1 / hertz
    case .dutyCycle(let on, let period):
      guard on > .zero else { return nil }
      seconds = period / .seconds(1)
    }
    // Longer intervals become a year, which does not overflow a timestamp.
    return min(max(seconds, shortestInterval), 31_536_000)
  }
}
