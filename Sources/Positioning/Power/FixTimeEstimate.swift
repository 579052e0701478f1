/// Learns the receiver's time from power-on to a sufficient fix. Three kinds of starts are distinguished.
/// Shortly after sleep, gpsd has not yet closed the receiver. Later, gpsd must open the receiver, whose orbit
/// data are still valid. After hours, the receiver must receive orbit data again.
public struct FixTimeEstimate: Hashable, Sendable {
  /// Time in s after which gpsd closes a receiver that no client watches.
  public static let briefLimit = 60.0
  /// Time of sleep in s after which orbit data counts as outdated. GPS orbits are valid for two hours, and
  /// the receiver obtained them some time before it went to sleep.
  public static let warmLimit = 5400.0
  /// Time in s to receive orbit data again: GPS sends it every 30 s.
  public static let cold = 35.0
  /// Range of learned times in s.
  private static let bounds = 0.5...30.0
  /// Weight of a new measurement that is shorter than the estimate.
  private static let learning = 0.25
  /// Maximum increase of the estimate in s that one measurement causes immediately and completely, so that
  /// the next fix is in time.
  private static let believable = 2.0
  /// Fraction by which `brief` decreases at each fix while the receiver stays on because the estimated time
  /// to a fix leaves no time for sleep. After some minutes the estimate is therefore short enough for another
  /// sleep.
  private static let forgetting = 0.005

  /// Time in s to a fix after a brief sleep, initially the maximum of gpsd and most receivers.
  public private(set) var brief: Double
  /// Time in s to a fix after a longer sleep, initially the maximum of gpsd and most receivers.
  public private(set) var warm: Double
  /// A measured time in s so long that a tunnel may be the reason; it is accepted if the next time is long,
  /// too. Nil if there is none.
  private var doubtful: Double?

  public init(brief: Double = 2, warm: Double = 6) {
    self.brief = brief
    self.warm = warm
  }

  /// Returns the expected time in s after a sleep of the given duration.
  public func seconds(afterSleeping sleep: Double) -> Double {
    if sleep < Self.briefLimit { return brief }
    return sleep < Self.warmLimit ? warm : max(warm, Self.cold)
  }

  /// Updates the estimate with the measured time to a fix after a sleep.
  public mutating func observe(seconds: Double, afterSleeping sleep: Double) {
    guard seconds >= 0 else { return }
    if sleep < Self.briefLimit {
      brief = learned(seconds, brief)
    } else if sleep < Self.warmLimit {
      warm = learned(seconds, warm)
    }
  }

  /// Reduces the estimate after a fix for which the receiver remained on, because the sleep would have been
  /// too short.
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
