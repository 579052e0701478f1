/// How long to wait before the next attempt: exponential with full jitter, so that a fleet that lost its
/// broker does not come back in step.
///
/// After A. Brooker, "Exponential Backoff and Jitter" (2015): uniform between zero and a ceiling that
/// doubles up to a limit. A floor keeps a lucky draw from hammering.
public struct Backoff: Sendable {
  /// Seconds below which no wait falls.
  public var floor: Double
  /// Seconds that the ceiling starts with.
  public var base: Double
  /// Seconds above which no wait rises.
  public var limit: Double
  private var attempt = 0

  public init(floor: Double = 0.1, base: Double = 0.5, limit: Double = 60) {
    self.floor = floor
    self.base = base
    self.limit = limit
  }

  /// Seconds to wait before the next attempt.
  public mutating func next(using generator: inout some RandomNumberGenerator) -> Double {
    let ceiling = min(limit, base * Double(UInt64(1) << UInt64(min(attempt, 20))))
    attempt += 1
    guard ceiling > floor else { return floor }
    return Double.random(in: floor...ceiling, using: &generator)
  }

  /// Seconds to wait before the next attempt, drawn from the system's generator.
  public mutating func next() -> Double {
    var generator = SystemRandomNumberGenerator()
    return next(using: &generator)
  }

  /// Starts over: call it when an attempt succeeded and held.
  public mutating func reset() { attempt = 0 }
}
