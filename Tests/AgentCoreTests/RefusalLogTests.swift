import Platform
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
