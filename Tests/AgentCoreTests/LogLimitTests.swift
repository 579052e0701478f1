import Platform
import Sensors
import Spatial
import StoreAndForward
import Testing

@testable import AgentCore

@Suite struct RefusalLogTests {
  private func at(_ nanoseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

  @Test func firstRejectionIsLoggedAndOthersSummarized() {
    var log = RefusalLog()
    let hour: Int64 = 3_600_000_000_000
    let denied = OutboxRefusal(topic: "a", isKept: true)
    #expect(
      log.observe(denied, reason: "no", at: .start) == .init(topic: "a", reason: "no", count: 1, isKept: true)
    )
    for index in 1..<50 { #expect(log.observe(denied, reason: "no", at: at(Int64(index))) == nil) }
    #expect(log.observe(denied, reason: "other", at: at(60))?.count == 1)
    #expect(log.observe(denied, reason: "no", at: at(hour))?.count == 50)
    #expect(log.observe(denied, reason: "no", at: at(hour + 1)) == nil)
  }

  @Test func statusListsCurrentRejections() {
    var log = RefusalLog()
    #expect(log.problem(waiting: [], at: .start) == nil)
    _ = log.observe(.init(topic: "a", isKept: true), reason: "not authorized (0x87)", at: .start)
    #expect(
      log.problem(waiting: ["a", "b"], at: at(1))
        == "the broker refuses a and 1 more: not authorized (0x87); stored for retry; permit it in the broker's access list"
    )
    #expect(log.problem(waiting: [], at: at(1)) == nil)
    _ = log.observe(.init(topic: "b", isKept: false), reason: "packet too large (0x95)", at: at(2))
    #expect(
      log.problem(waiting: [], at: at(3)) == "the broker refuses b: packet too large (0x95); a dead letter")
    #expect(log.problem(waiting: [], at: at(3_600_000_000_003)) == nil)
  }
}

@Suite struct SourceLogTests {
  @Test func flappingSourceIsLoggedOncePerMinuteAfterSixLines() {
    var log = SourceLog()
    var lines: [(second: Double, line: SourceLog.Line)] = []
    for i in 0..<1200 {
      let now = Timestamp(seconds: Double(i) / 4)
      lines += log.advance(to: now).map { (now.seconds, $0) }
      guard i < 480 else { continue }
      let status = SourceStatus(
        timestamp: now, source: "can0", kinds: [],
        state: i.isMultiple(of: 2) ? .active(rates: [:]) : .unavailable(reason: "passive"))
      if let line = log.observe(status, at: now) { lines.append((now.seconds, line)) }
    }
    #expect(lines.count == 8, "\(lines.map(\.second))")
    // Each change is either logged or counted, and the last state is logged.
    #expect(lines.reduce(0) { $0 + 1 + $1.line.suppressed } == 480)
    #expect(lines.last.map { $0.line.status.state } == .unavailable(reason: "passive"))
    // Each source has its own limit.
    let other = SourceStatus(timestamp: Timestamp(seconds: 300), source: "gpsd", kinds: [], state: .idle)
    #expect(log.observe(other, at: Timestamp(seconds: 300))?.suppressed == 0)
  }
}

/// Rate limit for log lines written by libraries, in virtual time.
@Suite struct LibraryMessageLimitTests {
  private func at(_ second: Int) -> MonotonicTime { .start.advanced(bySeconds: Double(second)) }

  @Test func messageIsLoggedOncePerHourWithSuppressedCount() {
    var limit = LibraryMessageLimit()
    #expect(limit.admit("timeout", at: .start) == .init(text: "timeout", leftOut: 0))
    for second in 1..<3600 { #expect(limit.admit("timeout", at: at(second)) == nil) }
    #expect(limit.admit("timeout", at: at(3600)) == .init(text: "timeout", leftOut: 3599))
    #expect(limit.leftOut == 0)
  }

  @Test func tenMessagesAreLoggedImmediatelyThenOnePerMinute() {
    var limit = LibraryMessageLimit()
    var said = 0
    for index in 0..<100_000 where limit.admit("line \(index)", at: .start) != nil { said += 1 }
    #expect(said == 10)
    #expect(limit.leftOut == 99_990)
    // One day of a library that never writes the same line twice.
    for second in 0..<86_400 where limit.admit("second \(second)", at: at(second)) != nil {
      said += 1
    }
    #expect((1440...1460).contains(said))
  }

  @Test(
    arguments: [
      (Array("ERROR: Bad URI: 'x'\r".utf8), "ERROR: Bad URI: 'x'"),
      (Array("  a\u{1B}[31mred\u{7}\u{202E}  ".utf8), "a [31mred"),
      ([0x61, 0xFF, 0xFE, 0x62], "a\u{FFFD}\u{FFFD}b"),
      ([UInt8](repeating: 0x61, count: 5000), String(repeating: "a", count: 300)),
      ([], ""), ([0x20, 0x0D], ""),
    ] as [([UInt8], String)])
  func controlCharactersAndLongLinesAreRemoved(bytes: [UInt8], text: String) {
    #expect(LibraryMessageLimit.cleaned(bytes) == text)
  }
}

@Suite struct PauseLogTests {
  private func seconds(_ seconds: Double) -> MonotonicTime { .start.advanced(bySeconds: seconds) }

  @Test func pauseAndItsEndAreLoggedOnce() {
    var log = PauseLog()
    #expect(log.problem == nil)
    #expect(log.observe("quota exceeded (0x97)", at: seconds(0)) == .paused(reason: "quota exceeded (0x97)"))
    #expect(log.problem?.contains("quota exceeded (0x97)") == true)
    // The broker accepts single messages in between.
    for time in stride(from: 1.0, to: 500, by: 30) {
      #expect(log.observe(nil, at: seconds(time)) == nil)
      #expect(log.due(at: seconds(time + 19)) == nil)
      #expect(log.observe("quota exceeded (0x97)", at: seconds(time + 20)) == nil)
    }
    #expect(log.due(at: seconds(1000)) == nil && log.problem != nil)
    #expect(log.observe(nil, at: seconds(1000)) == nil)
    #expect(log.due(at: seconds(1059)) == nil && log.problem != nil)
    #expect(log.due(at: seconds(1060)) == .resumed)
    #expect(log.due(at: seconds(1200)) == nil && log.problem == nil)
    #expect(log.observe("message rate too high (0x96)", at: seconds(1300)) != nil)
  }
}

@Suite struct StoreNoticesTests {
  private let full = OutboxNotice.degraded("full")
  private let free = OutboxNotice.recovered(records: 6)
  private func seconds(_ seconds: Int) -> MonotonicTime { .start.advanced(bySeconds: Double(seconds)) }

  @Test func repeatedFullDiskIsReportedOnce() {
    var notices = StoreNotices()
    var said: [OutboxNotice] = []
    func observe(_ notice: OutboxNotice, at time: Int) {
      if let due = notices.due(at: seconds(time)) { said.append(due) }
      if let now = notices.observe(notice, at: seconds(time)) { said.append(now) }
    }
    for round in 0..<100 {
      observe(full, at: 20 * round)
      observe(free, at: 20 * round + 10)
    }
    #expect(said == [full, free, full])
    // Free space is reported once it has lasted 60 s.
    let end = 99 * 20 + 10
    #expect(notices.due(at: seconds(end + 59)) == nil)
    #expect(notices.due(at: seconds(end + 60)) == free)
    #expect(notices.due(at: seconds(end + 61)) == nil)
    // A new occurrence is reported again.
    #expect(notices.observe(full, at: seconds(end + 100)) == full)
    #expect(notices.observe(free, at: seconds(end + 200)) == free)
  }

  @Test func otherNoticesAreReportedImmediately() {
    var notices = StoreNotices()
    for time in 0..<3 { #expect(notices.observe(.newEpoch("a"), at: seconds(time)) == .newEpoch("a")) }
    #expect(notices.due(at: seconds(100)) == nil)
  }
}
