public import Spatial

/// Checks a receiver's time against the device's monotonic clock, which never steps.
///
/// A receiver's time may go back or jump ahead (late leap seconds, a cold start), and old receivers count
/// weeks modulo 1024. The position of such a fix is still valid, so only its time is replaced: by the
/// previous time plus the elapsed time of that clock. A new time is adopted after several consecutive fixes
/// agree on it.
public struct ReceiverClock: Sendable {
  /// The result of checking a fix's time.
  public enum Finding: Hashable, Sendable {
    case sound
    case wentBack
    case jumpedAhead
    /// The time was wrong by a multiple of 1024 weeks, and was corrected.
    case weekRollover
    /// Earlier than any current receiver was made, and there is no reference, so the time is not usable.
    case unset
    /// A jump was confirmed: the receiver's new time is used from here on.
    case stepped
  }

  /// 1024 weeks in s.
  static let rollover = 1024.0 * 7 * 86_400
  /// Tolerance in s for reports that arrive late or early.
  private static let tolerance = 2.0
  /// Tolerance in s for a deviation from a multiple of 1024 weeks: a day, because the reference clock may be
  /// set to another time zone.
  private static let rolloverTolerance = 86_400.0
  /// Number of consecutive fixes that must agree on a new time before the time is accepted.
  private static let confirmations = 10
  /// 2025-01-01. This program did not exist earlier, so no fix can have an earlier time.
  public static let firstRelease = UTCTime(nanoseconds: 1_735_689_600_000_000_000)

  private var last: (time: UTCTime, timestamp: Timestamp)?
  private var candidate: (time: UTCTime, timestamp: Timestamp, count: Int)?
  /// Number of consecutive fixes whose time ran more than twice as fast as the device's: a recording played
  /// fast, whose gaps are not jumps.
  private var hastyCount = 0
  private static let hastyFixes = 5
  /// Correction in ns that is subtracted from this receiver's times because of week rollovers.
  private var offset: Int64 = 0

  private let earliest: UTCTime?

  /// - Parameter earliest: earliest accepted time; nil for recordings, which may have any age.
  public init(earliest: UTCTime? = firstRelease) {
    self.earliest = earliest
  }

  /// Processes a fix's time.
  ///
  /// - Parameters:
  ///   - reference: civil time by another clock that was set, such as the machine's clock; nil if there is
  ///     none. It is used only to detect errors of multiples of 1024 weeks.
  /// - Returns: the time to use (nil if there is no plausible time), and the result of the check.
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
      // The time of a late report is slightly behind the device's clock. The stored time never goes back,
      // even within the tolerance.
      if shifted >= last.time { self.last = (shifted, timestamp) }
      return (max(shifted, last.time), offset == 0 ? .sound : .weekRollover)
    }
    let turns = (deviation / Self.rollover).rounded()
    if turns != 0, abs(deviation - turns * Self.rollover) <= Self.tolerance {
      // The receiver's count restarted, or was corrected, during operation, as the device's clock proves.
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

  /// Handles an inconsistent time: uses the time expected by the device's clock until several fixes confirm
  /// the new time.
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
