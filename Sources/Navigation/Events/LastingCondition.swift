internal import Spatial

/// A condition with a minimum duration before it starts, and a minimum absence before it ends.
struct LastingCondition: Hashable, Sendable {
  enum Change: Hashable, Sendable {
    /// The condition started. `since` is the time since which it has been satisfied.
    case began(since: Timestamp)
    /// The condition ended. `at` is the time since which it has not been satisfied.
    case ended(at: Timestamp)
  }

  /// The duration in s for which the condition must be satisfied before it starts.
  let onset: Double
  /// The duration in s for which the condition must not be satisfied before it ends.
  let release: Double
  private(set) var isOn = false
  /// The time since which the input has differed from `isOn`; nil if they agree.
  private var differs: Timestamp?
  /// The time since which the condition is satisfied.
  private(set) var start: Timestamp?

  init(onset: Double, release: Double) { (self.onset, self.release) = (onset, release) }

  /// Updates the input.
  ///
  /// - Parameter holds: true if the condition is satisfied. If nil (unknown), the state does not change, and
  ///   a pending change is cancelled.
  mutating func update(_ holds: Bool?, at now: Timestamp) -> Change? {
    guard let holds, holds != isOn else {
      differs = nil
      return nil
    }
    let since = differs ?? now
    differs = since
    return change(at: now)
  }

  /// Advances time with an unchanged input.
  mutating func change(at now: Timestamp) -> Change? {
    guard let since = differs, now.seconds(since: since) >= (isOn ? release : onset) else { return nil }
    differs = nil
    isOn.toggle()
    if isOn {
      start = since
      return .began(since: since)
    }
    start = nil
    return .ended(at: since)
  }

  /// The next time at which `change` can return a change; nil if none is pending.
  var nextDeadline: Timestamp? { differs?.advanced(bySeconds: isOn ? release : onset) }

  /// Returns the end of the condition if observation stops now. This is the time since which the condition is
  /// not satisfied, or now.
  func end(at now: Timestamp) -> Timestamp { isOn ? differs ?? now : now }

  /// Resets the condition; an active one ends without an event.
  mutating func reset() { (isOn, differs, start) = (false, nil, nil) }
}
