import Platform
import Testing

@testable import MQTT

@Suite struct AcknowledgementHoldTests {
  private func hold() -> AcknowledgementHold {
    AcknowledgementHold(.init(portion: 50, count: 100, bytes: 1000))
  }

  /// Timeout in nanoseconds.
  private let timeout = Int64(AcknowledgementHold.timeout * 1e9)

  private func at(_ nanoseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

  @Test func holdsUntilTheMessageIsSettled() {
    var hold = hold()
    #expect(!hold.isHolding && hold.mayRead(at: .start))
    hold.held(1, count: 10, bytes: 100, at: .start)
    #expect(hold.isHolding && hold.mayRead(at: .start))
    hold.settled(through: 1)
    #expect(!hold.isHolding && hold.mayRead(at: .start))
  }

  @Test func readingPausesWhileAPortionIsStored() {
    var hold = hold()
    hold.held(1, count: 49, bytes: 1, at: at(5))
    #expect(hold.mayRead(at: at(5)) && hold.deadline(after: at(5)) == nil)
    hold.held(2, count: 1, bytes: 1, at: at(10))
    #expect(!hold.mayRead(at: at(10)) && hold.deadline(after: at(10)) == at(10 + timeout))
    hold.settled(through: 2)
    #expect(hold.mayRead(at: at(20)) && hold.deadline(after: at(20)) == nil)
    // The next portion is counted from zero.
    hold.held(3, count: 49, bytes: 1, at: at(30))
    #expect(hold.mayRead(at: at(30)))
  }

  @Test func readingResumesAfterTheTimeoutUpToTheLimits() {
    var hold = hold()
    hold.held(1, count: 60, bytes: 10, at: at(10))
    #expect(!hold.mayRead(at: at(10 + timeout - 1)))
    #expect(hold.mayRead(at: at(10 + timeout)))
    // After reading has resumed, it does not pause again.
    hold.held(2, count: 39, bytes: 10, at: at(10 + timeout))
    #expect(hold.mayRead(at: at(10 + timeout)) && hold.deadline(after: at(10 + timeout)) == nil)
    hold.held(3, count: 1, bytes: 10, at: at(20 + timeout))
    #expect(!hold.mayRead(at: .distantFuture))
    hold.settled(through: 3)
    hold.held(4, count: 1, bytes: 1000, at: .start)
    #expect(!hold.mayRead(at: .distantFuture))
  }

  /// Without this pause new messages could arrive faster than they are stored, and acknowledgements would never
  /// be written.
  @Test func readingPausesAfterPartOfTheHeldMessagesIsStored() {
    var hold = hold()
    hold.held(1, count: 1, bytes: 1, at: .start)
    hold.held(2, count: 1, bytes: 1, at: .start)
    hold.settled(through: 1)
    #expect(hold.isHolding && !hold.mayRead(at: .distantFuture))
    hold.settled(through: 2)
    #expect(!hold.isHolding && hold.mayRead(at: .start))
    hold.held(3, count: 1, bytes: 1, at: .start)
    #expect(hold.isHolding && hold.mayRead(at: .start))
  }

  @Test func settlementsOfAnEarlierConnectionAreIgnored() {
    var hold = hold()
    // A new connection holds nothing. Messages of the previous connection can be settled late.
    #expect(!hold.isHolding && hold.deadline(after: .start) == nil)
    hold.held(2, count: 1, bytes: 1, at: .start)
    hold.settled(through: 1)
    #expect(hold.isHolding)
    hold.settled(through: 2)
    #expect(!hold.isHolding)
    // A late settlement with a lower number has no effect.
    hold.held(3, count: 1, bytes: 1, at: .start)
    hold.settled(through: 2)
    #expect(hold.isHolding)
  }
}
