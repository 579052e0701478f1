internal import Platform

/// Decides when to log that the broker accepts no messages, for example because a quota is exceeded, and when to
/// log the end of this state. Pure.
struct PauseLog {
  enum Line: Equatable {
    case paused(reason: String)
    case resumed
  }

  /// Reason of the last logged pause; nil if its end was logged.
  private var reason: String?
  /// Time since which the broker accepts messages again; nil during a pause.
  private var resumedAt: MonotonicTime?

  /// Time in s for which the broker must accept messages before the end of a pause is logged.
  private static let interval = 60.0

  /// Description for `status`; nil if the broker accepts messages.
  var problem: String? {
    reason.map { "the broker accepts no messages at present: \($0); stored for retry" }
  }

  /// Processes a change. Returns the line to log; nil if nothing must be logged now.
  /// - Parameter reason: the broker's reason; nil if it accepts messages.
  mutating func observe(_ reason: String?, at now: MonotonicTime) -> Line? {
    resumedAt = reason == nil ? now : nil
    guard let reason else { return nil }
    defer { self.reason = reason }
    return self.reason == nil ? .paused(reason: reason) : nil
  }

  /// Returns an end that must be logged now; nil if there is none.
  mutating func due(at now: MonotonicTime) -> Line? {
    guard reason != nil, let resumedAt, now >= resumedAt.advanced(bySeconds: Self.interval) else {
      return nil
    }
    (reason, self.resumedAt) = (nil, nil)
    return .resumed
  }
}
