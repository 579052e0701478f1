import Positioning
import Spatial
import TestSupport
import Testing

@Suite struct ReceiverClockTests {
  private static let rollover = 1024.0 * 7 * 86_400

  /// A series of fixes, one per second: errors of the receiver's time, and the expected result.
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var offsets: [Double]
    /// Errors in s of the time that is used; nil for an unknown time.
    var used: [Double?]
    var last: ReceiverClock.Finding
    var hasReference = false
  }

  private static let rows: [Row] = [
    Row(
      testDescription: "a correct clock", offsets: [0, 0.3, -0.2, 0], used: [0, 0.3, -0.2, 0], last: .sound),
    Row(
      testDescription: "a time that steps back is replaced from the monotonic clock", offsets: [0, -3600, 0],
      used: [0, 0, 0], last: .sound),
    Row(
      testDescription: "a time that jumps ahead is replaced, too", offsets: [0, 0, 7200], used: [0, 0, 0],
      last: .jumpedAhead),
    Row(
      testDescription: "late leap seconds are accepted with the tenth fix",
      offsets: [0] + Array(repeating: -18, count: 11),
      used: [0] + Array(repeating: 0, count: 9) + [-18, -18], last: .sound),
    Row(
      testDescription: "a week rollover during a drive is corrected from the monotonic clock",
      offsets: [0, 0, -rollover, -rollover], used: [0, 0, 0, 0], last: .weekRollover),
    Row(
      testDescription: "a rollover at the start is corrected from another clock",
      offsets: [-rollover, -rollover], used: [0, 0], last: .weekRollover, hasReference: true),
    Row(
      testDescription: "two rollovers at the start", offsets: [-2 * rollover], used: [0], last: .weekRollover,
      hasReference: true),
    Row(
      testDescription: "a date one rollover in the future is corrected, too", offsets: [rollover], used: [0],
      last: .weekRollover, hasReference: true),
    Row(
      testDescription: "without another clock, a time before the program's release is unknown",
      offsets: [-rollover, -rollover], used: [nil, nil], last: .unset),
    Row(
      testDescription: "a receiver that obtains its date later",
      offsets: [-rollover, 0, 0], used: [nil, 0, 0], last: .sound),
    Row(
      testDescription: "a system clock that is off by a month does not override the receiver",
      offsets: [-30 * 86_400, -30 * 86_400], used: [-30 * 86_400, -30 * 86_400], last: .sound,
      hasReference: true),
  ]

  @Test(arguments: rows) func receiverTimesAreClassified(row: Row) {
    var clock = ReceiverClock()
    var finding = ReceiverClock.Finding.sound
    for (second, offset) in row.offsets.enumerated() {
      let truth = Place.start.advanced(bySeconds: Double(second))
      let result = clock.process(
        truth.advanced(bySeconds: offset), at: Timestamp(seconds: Double(second)),
        reference: row.hasReference ? truth : nil)
      finding = result.finding
      let used = result.time.map { $0.seconds(since: truth) }
      #expect(
        used.map { ($0 * 1000).rounded() } == row.used[second].map { ($0 * 1000).rounded() }, "fix \(second)")
    }
    #expect(finding == row.last)
  }

  @Test func recordingMayHaveAnyAge() {
    var clock = ReceiverClock(earliest: nil)
    let old = UTCTime(nanoseconds: 1_000_000_000_000_000_000)
    #expect(clock.process(old, at: Timestamp(seconds: 0)).time == old)
  }

  @Test func gapInAFastReplayIsNoJump() {
    var clock = ReceiverClock()
    for second in 0..<20 {
      _ = clock.process(
        Place.start.advanced(bySeconds: Double(second)), at: Timestamp(seconds: Double(second) * 0.01))
    }
    let later = Place.start.advanced(bySeconds: 300)
    let result = clock.process(later, at: Timestamp(seconds: 0.2))
    #expect(result.time == later && result.finding == .sound)
  }
}
