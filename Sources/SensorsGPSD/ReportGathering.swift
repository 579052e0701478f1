internal import Sensors
internal import Spatial

/// Lets gpsd's reports wait in the socket for as long as the demand allows, so that the processor sleeps meanwhile, and finds
/// the times at which those that waited have come. Pure, all time comes in.
///
/// The time from a receiver's second to its report changes little, and no report comes before it was made. So one that
/// waited came as long after its civil time as the quickest of those before.
struct ReportGathering: Sendable {
  /// Nanoseconds: a shorter wait saves nothing with receivers that report once a second.
  static let shortest: Int64 = 2_000_000_000
  /// Nanoseconds: a source that waits longer would not notice that a receiver has fallen silent.
  static let longest: Int64 = 10_000_000_000
  /// By which clocks drift apart at most.
  private static let drift = 1e-4
  /// Nanoseconds: a larger step is another time altogether, not a delay.
  private static let largestDelay: Int64 = 60_000_000_000

  /// Nanoseconds that a report may wait; nil takes each as it comes.
  private var latency: Int64?
  private var nextLook: Int64 = 0
  /// What waited is still to be taken, whatever the demand says now.
  private(set) var isBehind = false
  /// From a report's civil time to its coming, ns, and when that was seen.
  private var delay: (nanoseconds: Int64, seen: Timestamp)?
  private var newest: Timestamp?

  /// Sets what is needed from `now` (monotonic, ns) on.
  mutating func setDemand(_ demand: SensorDemand, at now: Int64) {
    var wanted: Int64?
    if case .rate(_, let latency) = demand, latency >= .nanoseconds(Self.shortest) {
      wanted = latency >= .nanoseconds(Self.longest) ? Self.longest : Int64(latency / .nanoseconds(1))
    }
    isBehind = isBehind || latency != nil
    latency = wanted
    nextLook = now + (wanted ?? 0)
  }

  /// Until when nothing is looked at (monotonic, ns); nil to look now.
  func pause(at now: Int64) -> Int64? { latency != nil && now < nextLook ? nextLook : nil }

  /// Whether only what has come already is to be taken, without waiting for more.
  var takesOnlyWhatIsThere: Bool { latency != nil || isBehind }

  /// Takes note that everything that was there at `now` (monotonic, ns) was taken.
  mutating func caughtUp(at now: Int64) {
    isBehind = false
    nextLook = now + (latency ?? 0)
  }

  /// When a report came.
  ///
  /// - Parameters:
  ///   - time: the report's own civil time.
  ///   - now: when it is taken.
  mutating func arrival(of time: UTCTime?, takenAt now: Timestamp) -> Timestamp {
    var arrival = now
    if let time {
      var shortest = now.nanoseconds &- time.nanoseconds
      if let delay, abs(shortest &- delay.nanoseconds) < Self.largestDelay, takesOnlyWhatIsThere {
        let slack = Int64(Self.drift * Double(now.nanoseconds &- delay.seen.nanoseconds))
        shortest = min(shortest, delay.nanoseconds &+ slack)
      }
      delay = (shortest, now)
      arrival = Timestamp(nanoseconds: time.nanoseconds &+ shortest)
    }
    // In order, whatever the receiver's clock does.
    arrival = newest.map { max($0, arrival) } ?? arrival
    newest = arrival
    return arrival
  }
}
