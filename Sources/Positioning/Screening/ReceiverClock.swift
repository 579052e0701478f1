public import Spatial

/// Watches a receiver's time against the device's own time line, which never steps.
///
/// A receiver's time may go back or jump ahead (leap seconds learnt late, a cold start), and old receivers count weeks
/// modulo 1024. The position of such a fix is as good as any, so only its time is replaced: by what the time line makes of
/// the time before. A new time that holds is taken over.
public struct ReceiverClock: Sendable {
  /// What was seen of a fix's time.
  public enum Finding: Hashable, Sendable {
    case sound
    case wentBack
    case jumpedAhead
    /// Off by a multiple of 1024 weeks, and repaired.
    case weekRollover
    /// Before any receiver of today was made, and nothing to tell the right one from: not to be used.
    case unset
    /// For the first time a jump was confirmed: the receiver's new time counts from here.
    case stepped
  }

  /// Seconds: 1024 weeks.
  static let rollover = 1024.0 * 7 * 86_400
  /// Seconds that a report may be late or early.
  private static let tolerance = 2.0
  /// A time that is off by a multiple of 1024 weeks to within this many seconds has rolled over. It is a day, as the clock
  /// that it is compared with may be wrong by the time zone.
  private static let rolloverTolerance = 86_400.0
  /// Fixes in a row that agree on a new time before it is believed.
  private static let confirmations = 10
  /// 2025-01-01: no fix was made by this program before.
  public static let firstRelease = UTCTime(nanoseconds: 1_735_689_600_000_000_000)

  private var last: (time: UTCTime, timestamp: Timestamp)?
  private var candidate: (time: UTCTime, timestamp: Timestamp, count: Int)?
  /// Fixes in a row whose time ran more than twice as fast as the device's: a recording that is played in haste, whose
  /// gaps are no jumps.
  private var hastyCount = 0
  private static let hastyFixes = 5
  /// Nanoseconds that a rollover takes from this receiver's times.
  private var offset: Int64 = 0

  private let earliest: UTCTime?

  /// - Parameter earliest: no time before this is believed; nil for recordings, which may be of any age.
  public init(earliest: UTCTime? = firstRelease) {
    self.earliest = earliest
  }

  /// Takes a fix's time.
  ///
  /// - Parameters:
  ///   - reference: civil time by another clock that was set, as the machine's; nil when there is none. Only multiples of
  ///     1024 weeks are judged by it.
  /// - Returns: the time to use, which is nil when there is none that can be believed.
  public mutating func process(
    _ time: UTCTime, at timestamp: Timestamp, reference: UTCTime? = nil
  ) -> (time: UTCTime?, finding: Finding) {
    let shifted = UTCTime(nanoseconds: time.nanoseconds &- offset)
    guard let last else { return start(with: time, at: timestamp, reference: reference) }
    let expected = last.time.advanced(bySeconds: timestamp.seconds(since: last.timestamp))
    let deviation = shifted.seconds(since: expected)
    let isHasty = deviation > 0.2 + timestamp.seconds(since: last.timestamp)
    hastyCount = isHasty ? min(hastyCount + 1, Self.hastyFixes) : 0
    let ahead = hastyCount == Self.hastyFixes ? 86_400 : Self.tolerance
    if (-Self.tolerance...ahead).contains(deviation) {
      candidate = nil
      // The time line of a late report is a little ahead; a time never goes back within the tolerance either.
      if shifted >= last.time { self.last = (shifted, timestamp) }
      return (max(shifted, last.time), offset == 0 ? .sound : .weekRollover)
    }
    let turns = (deviation / Self.rollover).rounded()
    if turns != 0, abs(deviation - turns * Self.rollover) <= Self.tolerance {
      // The receiver's count began anew, or was set right, while we watched: the time line proves it.
      offset &+= Int64(turns * Self.rollover) * 1_000_000_000
      let repaired = UTCTime(nanoseconds: time.nanoseconds &- offset)
      self.last = (max(repaired, last.time), timestamp)
      return (max(repaired, last.time), offset == 0 ? .sound : .weekRollover)
    }
    return consider(shifted, at: timestamp, expected: expected, deviation: deviation)
  }

  private mutating func start(
    with time: UTCTime, at timestamp: Timestamp, reference: UTCTime?
  ) -> (time: UTCTime?, finding: Finding) {
    if let reference {
      let deviation = time.seconds(since: reference)
      let turns = (deviation / Self.rollover).rounded()
      if turns != 0, abs(deviation - turns * Self.rollover) <= Self.rolloverTolerance {
        offset = Int64(turns * Self.rollover) * 1_000_000_000
        let repaired = UTCTime(nanoseconds: time.nanoseconds &- offset)
        last = (repaired, timestamp)
        return (repaired, .weekRollover)
      }
    }
    guard earliest.map({ time >= $0 }) ?? true else { return (nil, .unset) }
    last = (time, timestamp)
    return (time, .sound)
  }

  /// A time that does not fit: the time line's counts until the new one has held.
  private mutating func consider(
    _ time: UTCTime, at timestamp: Timestamp, expected: UTCTime, deviation: Double
  ) -> (time: UTCTime?, finding: Finding) {
    var count = 1
    if let candidate {
      let continued = candidate.time.advanced(bySeconds: timestamp.seconds(since: candidate.timestamp))
      if abs(time.seconds(since: continued)) <= Self.tolerance { count = candidate.count + 1 }
    }
    guard count >= Self.confirmations, earliest.map({ time >= $0 }) ?? true else {
      candidate = (time, timestamp, count)
      return (expected, deviation < 0 ? .wentBack : .jumpedAhead)
    }
    candidate = nil
    last = (time, timestamp)
    return (time, .stepped)
  }
}
