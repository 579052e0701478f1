internal import Spatial

/// Tells civil time for points on the device's time line.
///
/// On live hardware both clocks tick in the machine, so their offset is taken from there; a machine whose wall clock
/// was never set (it says a year before this program was written) takes the receiver's time instead. In a recording
/// the receiver's time is the only one there is.
struct TimeBase: Sendable {
  /// Nanoseconds to add to a timestamp.
  private var offset: Int64
  private let followsReceiver: Bool

  /// 2025-01-01: a clock that says earlier was never set.
  static let earliestSaneTime = UTCTime(nanoseconds: 1_735_689_600_000_000_000)

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
