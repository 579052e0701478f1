/// A retry delay: exponential with full jitter, so that the vehicles of a fleet do not reconnect
/// simultaneously.
///
/// After A. Brooker, "Exponential Backoff and Jitter" (2015): uniform between zero and a ceiling that doubles
/// up to a limit. A minimum delay prevents rapid retries.
package struct Backoff: Sendable {
  /// The minimum delay in seconds.
  package var floor: Double
  /// The initial ceiling in seconds.
  package var base: Double
  /// The maximum delay in seconds.
  package var limit: Double
  private var attempt = 0

  package init(floor: Double = 0.1, base: Double = 0.5, limit: Double = 60) {
    self.floor = floor
    self.base = base
    self.limit = limit
  }

  /// Returns the delay before the next attempt in seconds.
  package mutating func next(using generator: inout some RandomNumberGenerator) -> Double {
    let ceiling = min(limit, base * Double(UInt64(1) << UInt64(min(attempt, 20))))
    attempt += 1
    guard ceiling > floor else { return floor }
    return Double.random(in: floor...ceiling, using: &generator)
  }

  /// Returns the delay before the next attempt in seconds, from the system's random generator.
  package mutating func next() -> Double {
    var generator = SystemRandomNumberGenerator()
    return next(using: &generator)
  }

  /// Resets the delay. Call it after an attempt succeeded and the connection was stable.
  package mutating func reset() { attempt = 0 }
}
