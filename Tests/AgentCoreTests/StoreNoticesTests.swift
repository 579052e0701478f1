import Platform
import StoreAndForward
import Testing

@testable import AgentCore

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
