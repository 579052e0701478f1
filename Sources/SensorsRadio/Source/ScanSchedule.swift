internal import Platform
internal import Sensors
internal import Spatial

/// When a radio is to scan: at once when that is demanded, then at the interval that the demand has, after a failure with a
/// back-off.
///
/// A duty cycle is one scan a period. Between the starts of two scans lie 5 s at least, whatever is demanded.
struct ScanSchedule: Sendable {
  /// Seconds between the starts of two scans, at the least.
  static let shortestInterval = 5.0
  /// Seconds between the starts of two scans; nil while none is wanted.
  private(set) var interval: Double?

  private var wantedSince: Timestamp?
  private var lastStart: Timestamp?
  private var retry: Timestamp?
  private var backoff = Backoff(floor: 10, base: 20, limit: 600)

  /// Sets what is demanded from now on. Repetitions do not matter.
  mutating func setDemand(_ demand: SensorDemand, at now: Timestamp) {
    let interval = Self.interval(of: demand)
    guard interval != self.interval else { return }
    if self.interval == nil { wantedSince = now }
    self.interval = interval
  }

  /// When the next scan begins; nil while none is wanted.
  var due: Timestamp? {
    guard let interval, let wantedSince else { return nil }
    if let retry { return max(retry, wantedSince) }
    guard let lastStart else { return wantedSince }
    let next = lastStart.advanced(bySeconds: interval)
    // A demand that begins anew wants to know now.
    return lastStart < wantedSince
      ? max(wantedSince, lastStart.advanced(bySeconds: Self.shortestInterval)) : next
  }

  /// Learns that a scan begins.
  mutating func begin(at now: Timestamp) { lastStart = now }

  /// Learns that the scan that began has told something.
  mutating func succeed() {
    retry = nil
    backoff.reset()
  }

  /// Learns that the scan that began came to nothing.
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
    // A year is as good as never, and leaves room in a timestamp.
    return min(max(seconds, shortestInterval), 31_536_000)
  }
}
