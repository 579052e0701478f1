internal import Spatial

/// A condition that counts once it has held for a while, and is over once it has not held for a while.
struct LastingCondition: Hashable, Sendable {
  enum Change: Hashable, Sendable {
    /// It has held for long enough, since a time.
    case began(since: Timestamp)
    /// It has not held since a time.
    case ended(at: Timestamp)
  }

  /// s that it must hold, and must not hold.
  let onset: Double
  let release: Double
  private(set) var isOn = false
  /// Since when it is otherwise than `isOn`.
  private var differs: Timestamp?
  /// Since when it has held.
  private(set) var start: Timestamp?

  init(onset: Double, release: Double) { (self.onset, self.release) = (onset, release) }

  /// - Parameter holds: nil where it is not known: nothing changes, and what was about to begins anew.
  mutating func update(_ holds: Bool?, at now: Timestamp) -> Change? {
    guard let holds, holds != isOn else {
      differs = nil
      return nil
    }
    let since = differs ?? now
    differs = since
    return change(at: now)
  }

  /// Lets time pass: the newest word still holds.
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

  /// When `change` has something to say, if nothing comes before.
  var nextDeadline: Timestamp? { differs?.advanced(bySeconds: isOn ? release : onset) }

  /// When it is over if nobody looks any longer: since when it has not held, or now.
  func end(at now: Timestamp) -> Timestamp { isOn ? differs ?? now : now }

  /// Forgets all. What was on ends without a word.
  mutating func reset() { (isOn, differs, start) = (false, nil, nil) }
}
