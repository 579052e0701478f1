internal import Positioning
package import Spatial

/// Civil time for points on the device's time line.
///
/// On live hardware both clocks tick in the machine, so their offset is taken from there; a machine whose wall clock
/// was never set (it says a year before this program was written) takes the receiver's time instead. In a recording
/// the receiver's time is the only one there is.
package struct TimeBase: Sendable {
  /// Nanoseconds to add to a timestamp.
  private var offset: Int64
  private let followsReceiver: Bool

  /// 2025-01-01: a clock that says earlier was never set.
  package static let earliestSaneTime = UTCTime(nanoseconds: 1_735_689_600_000_000_000)

  /// - Parameters:
  ///   - timestamp: a point on the device's time line.
  ///   - time: the civil time at that point, as far as it is known.
  ///   - followsReceiver: whether fixes set the offset; a clock that is not sane follows in any case.
  init(timestamp: Timestamp, time: UTCTime, followsReceiver: Bool) {
    offset = time.nanoseconds &- timestamp.nanoseconds
    self.followsReceiver = followsReceiver || time < Self.earliestSaneTime
  }

  func utc(at timestamp: Timestamp) -> UTCTime {
    let (sum, overflow) = timestamp.nanoseconds.addingReportingOverflow(offset)
    return UTCTime(nanoseconds: overflow ? timestamp.nanoseconds : sum)
  }

  /// Civil time of a location; those that came in by `stamped` carry it.
  func utc(of location: Location) -> UTCTime { location.time ?? utc(at: location.timestamp) }

  /// The location with its civil time: where it enters, once and for all.
  func stamped(_ location: Location) -> Location {
    var location = location
    location.time = utc(of: location)
    return location
  }

  /// Nanoseconds to add to a timestamp; nil while no clock was set.
  func knownOffset(at timestamp: Timestamp) -> Int64? {
    utc(at: timestamp) >= Self.earliestSaneTime ? offset : nil
  }

  /// Civil time by the machine's own clock; nil when that was never set, or in a recording.
  func machineTime(at timestamp: Timestamp) -> UTCTime? { followsReceiver ? nil : utc(at: timestamp) }

  mutating func observe(_ time: UTCTime?, at timestamp: Timestamp) {
    guard followsReceiver, let time, time >= Self.earliestSaneTime else { return }
    offset = time.nanoseconds &- timestamp.nanoseconds
  }
}

/// Opens once in every interval, on a grid that does not drift.
struct IntervalGate: Sendable {
  /// Seconds.
  let interval: Double
  private var next: Timestamp?

  init(interval: Double) {
    self.interval = interval
  }

  mutating func isOpen(at timestamp: Timestamp) -> Bool {
    guard let next else {
      self.next = timestamp.advanced(bySeconds: interval)
      return true
    }
    guard timestamp >= next else { return false }
    let following = next.advanced(bySeconds: interval)
    // After a silence longer than an interval the grid starts anew, so that nothing comes in a burst.
    self.next = following > timestamp ? following : timestamp.advanced(bySeconds: interval)
    return true
  }
}
