/// Learns how long the receiver takes from waking to a fix that is good enough.
///
/// Three kinds of waking differ too much to be one: shortly after it fell asleep, when gpsd has not let go of the receiver
/// yet; later, when gpsd has to open it, and it still knows where the satellites are; and after hours, when it has to
/// listen to them anew.
public struct FixTimeEstimate: Hashable, Sendable {
  /// Seconds: gpsd closes a receiver a minute after its last watcher has left.
  public static let briefLimit = 60.0
  /// Seconds for which what satellites say of their orbits holds good: two hours for GPS, and a receiver has heard it
  /// some time before it went to sleep.
  public static let warmLimit = 5400.0
  /// Seconds that a receiver needs to hear that again: GPS sends it every 30 s.
  public static let cold = 35.0
  /// Seconds, within which what is learned is kept.
  private static let bounds = 0.5...30.0
  /// How much of a shorter time is believed at once.
  private static let learning = 0.25
  /// Seconds: what is longer than known by up to this is believed at once and whole, so that the next fix is in time.
  private static let believable = 2.0
  /// How much is forgotten for each fix while the receiver stays on because it seems too slow to sleep: after some
  /// minutes it gets another chance.
  private static let forgetting = 0.005

  /// Seconds to a fix after a brief sleep, and after a longer one; they begin with what gpsd and
  /// most receivers take at most.
  public private(set) var brief: Double
  public private(set) var warm: Double
  /// A time that was so long that it may have been a tunnel; believed when the next is long too.
  private var doubtful: Double?

  public init(brief: Double = 2, warm: Double = 6) {
    self.brief = brief
    self.warm = warm
  }

  /// Seconds to be expected after a sleep of so many seconds.
  public func seconds(afterSleeping sleep: Double) -> Double {
    if sleep < Self.briefLimit { return brief }
    return sleep < Self.warmLimit ? warm : max(warm, Self.cold)
  }

  /// Takes in that a fix came so many seconds after the receiver woke from a sleep.
  public mutating func observe(seconds: Double, afterSleeping sleep: Double) {
    guard seconds >= 0 else { return }
    if sleep < Self.briefLimit {
      brief = learned(seconds, brief)
    } else if sleep < Self.warmLimit {
      warm = learned(seconds, warm)
    }
  }

  /// Takes in that the receiver was left on because a sleep would have been too short.
  mutating func forget() { brief -= Self.forgetting * brief }

  private mutating func learned(_ seconds: Double, _ known: Double) -> Double {
    let measured = min(max(seconds, Self.bounds.lowerBound), Self.bounds.upperBound)
    let doubted = doubtful
    doubtful = nil
    if measured <= known { return known + Self.learning * (measured - known) }
    if measured <= known + Self.believable { return measured }
    guard let doubted else {
      doubtful = measured
      return known
    }
    return max(known, min(doubted, measured))
  }
}
