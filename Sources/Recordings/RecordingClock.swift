package import Spatial

/// The time line of a recording: the receiver's time since its first time, started at `origin`.
///
/// It never runs back: when the receiver's own clock does, it stands still until that has caught up, while the
/// fixes keep the time that was recorded. Reports without a time happen when the one before them did.
package struct RecordingClock: Sendable, Hashable {
  private var firstTime: UTCTime?
  private var now: Timestamp

  package init(origin: Timestamp) { now = origin }

  /// The place of a report on the time line.
  package mutating func timestamp(for time: UTCTime?) -> Timestamp {
    guard let time else { return now }
    guard let firstTime else {
      firstTime = UTCTime(nanoseconds: time.nanoseconds &- now.nanoseconds)
      return now
    }
    let (elapsed, overflow) = time.nanoseconds.subtractingReportingOverflow(firstTime.nanoseconds)
    if !overflow { now = max(now, Timestamp(nanoseconds: elapsed)) }
    return now
  }

  /// Says that the receiver's times from now on are later than those before by that much more than has passed,
  /// because only now its date became known.
  package mutating func shift(byNanoseconds nanoseconds: Int64) {
    if let time = firstTime { firstTime = UTCTime(nanoseconds: time.nanoseconds &+ nanoseconds) }
  }
}
