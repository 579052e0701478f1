/// One consumer that was counted in; counted out when it is stopped or let go of.
final class Subscription: Sendable {
  private let interval: @Sendable () -> Double?
  private let ending: @Sendable () -> Void

  init(interval: @escaping @Sendable () -> Double?, ending: @escaping @Sendable () -> Void) {
    (self.interval, self.ending) = (interval, ending)
  }

  deinit { ending() }

  /// Seconds between samples as they really come; nil while the hardware has not said, and after the end.
  var effectiveInterval: Double? { interval() }

  /// Once is enough.
  func stop() { ending() }
}
