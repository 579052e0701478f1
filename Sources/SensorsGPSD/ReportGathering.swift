internal import Platform
internal import Sensors
internal import Spatial

/// Lets gpsd's reports wait in the socket as long as the demand allows, so that the processor sleeps
/// meanwhile, and estimates the arrival times of waiting reports. Pure: the caller provides all times.
///
/// The delay from the civil time of a report to its arrival is nearly constant, and other delays only add to
/// it. The arrival of a waiting report is therefore estimated as its civil time plus the smallest recent
/// delay.
struct ReportGathering: Sendable {
  /// Minimum waiting time in s. Most receivers report once a second, so shorter waits save nothing.
  static let shortest = 2.0
  /// Maximum waiting time in s. Longer waits would hide that a receiver has stopped reporting.
  static let longest = 10.0
  /// Maximum assumed relative drift between the receiver's clock and this machine's.
  private static let drift = 1e-4
  /// Change of the delay in ns from which the receiver's time counts as changed, and the previous delay is
  /// discarded.
  private static let largestDelay: Int64 = 60_000_000_000

  /// Waiting time of reports in s; nil reads each immediately.
  private var latency: Double?
  private var nextLook = MonotonicTime.start
  /// True if waiting reports must still be read, whatever the demand.
  private(set) var isBehind = false
  /// Smallest delay from a report's civil time to its arrival in ns, and when it was observed, by receiver.
  private var delays: [String: (nanoseconds: Int64, seen: Timestamp)] = [:]
  /// Maximum number of receivers, to limit memory; gpsd itself supports four.
  private static let mostReceivers = 16
  private var newest: Timestamp?

  /// Sets the demand from `now` on.
  mutating func setDemand(_ demand: SensorDemand, at now: MonotonicTime) {
    var wanted: Double?
    if case .rate(_, let latency) = demand, latency >= .seconds(Self.shortest) {
      wanted = min(latency / .seconds(1), Self.longest)
    }
    isBehind = isBehind || latency != nil
    latency = wanted
    nextLook = now.advanced(bySeconds: wanted ?? 0)
  }

  /// Returns the time until which reports wait in the socket; nil to read them now.
  func pause(at now: MonotonicTime) -> MonotonicTime? { latency != nil && now < nextLook ? nextLook : nil }

  /// True if the thread reads the reports that are already available and does not wait for more.
  var drainsWithoutWaiting: Bool { latency != nil || isBehind }

  /// Records that all reports available at `now` were read.
  mutating func caughtUp(at now: MonotonicTime) {
    isBehind = false
    nextLook = now.advanced(bySeconds: latency ?? 0)
  }

  /// Returns the estimated arrival time of a report.
  ///
  /// - Parameters:
  ///   - time: civil time of the report; nil if it has none.
  ///   - receiver: path of the receiver.
  ///   - now: time at which the report was read.
  mutating func arrival(of time: UTCTime?, from receiver: String, takenAt now: Timestamp) -> Timestamp {
    var arrival = now
    if let time {
      var shortest = now.nanoseconds &- time.nanoseconds
      if let delay = delays[receiver], abs(shortest &- delay.nanoseconds) < Self.largestDelay,
        drainsWithoutWaiting
      {
        let slack = Int64(Self.drift * Double(now.nanoseconds &- delay.seen.nanoseconds))
        shortest = min(shortest, delay.nanoseconds &+ slack)
      }
      if delays.count >= Self.mostReceivers { delays.removeAll() }
      delays[receiver] = (shortest, now)
      arrival = Timestamp(nanoseconds: time.nanoseconds &+ shortest)
    }
    return arrival
  }

  /// Returns the time of a report that is delivered. It never decreases, even if the receiver's clock goes back. Reports
  /// of unused receivers have no effect.
  mutating func delivery(of arrival: Timestamp) -> Timestamp {
    let time = newest.map { max($0, arrival) } ?? arrival
    newest = time
    return time
  }
}
