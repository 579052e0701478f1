import Testing

@testable import MQTT

@Suite struct AcknowledgementHoldTests {
  private func hold() -> AcknowledgementHold {
    AcknowledgementHold(.init(portion: 50, count: 100, bytes: 1000))
  }

  private let timeout = AcknowledgementHold.timeout

  @Test func nothingIsWrittenWhileSomethingIsUnstored() {
    var hold = hold()
    #expect(!hold.isHolding && hold.mayRead(at: 0))
    hold.held(1, count: 10, bytes: 100, at: 0)
    #expect(hold.isHolding && hold.mayRead(at: 0))
    hold.settled(through: 1)
    #expect(!hold.isHolding && hold.mayRead(at: 0))
  }

  @Test func readingPausesWhileAPortionIsStored() {
    var hold = hold()
    hold.held(1, count: 49, bytes: 1, at: 5)
    #expect(hold.mayRead(at: 5) && hold.deadline(after: 5) == nil)
    hold.held(2, count: 1, bytes: 1, at: 10)
    #expect(!hold.mayRead(at: 10) && hold.deadline(after: 10) == 10 + timeout)
    hold.settled(through: 2)
    #expect(hold.mayRead(at: 20) && hold.deadline(after: 20) == nil)
    // The next portion begins anew.
    hold.held(3, count: 49, bytes: 1, at: 30)
    #expect(hold.mayRead(at: 30))
  }

  @Test func readingGoesOnUpToTheBoundsWhenNothingIsStored() {
    var hold = hold()
    hold.held(1, count: 60, bytes: 10, at: 10)
    #expect(!hold.mayRead(at: 10 + timeout - 1))
    #expect(hold.mayRead(at: 10 + timeout))
    // Once it went on, it does not pause again.
    hold.held(2, count: 39, bytes: 10, at: 10 + timeout)
    #expect(hold.mayRead(at: 10 + timeout) && hold.deadline(after: 10 + timeout) == nil)
    hold.held(3, count: 1, bytes: 10, at: 20 + timeout)
    #expect(!hold.mayRead(at: .max))
    hold.settled(through: 3)
    hold.held(4, count: 1, bytes: 1000, at: 0)
    #expect(!hold.mayRead(at: .max))
  }

  /// Or there would never be a moment at which everything is stored.
  @Test func readingPausesOnceAPartIsStored() {
    var hold = hold()
    hold.held(1, count: 1, bytes: 1, at: 0)
    hold.held(2, count: 1, bytes: 1, at: 0)
    hold.settled(through: 1)
    #expect(hold.isHolding && !hold.mayRead(at: .max))
    hold.settled(through: 2)
    #expect(!hold.isHolding && hold.mayRead(at: 0))
    hold.held(3, count: 1, bytes: 1, at: 0)
    #expect(hold.isHolding && hold.mayRead(at: 0))
  }

  @Test func whatIsSettledOfAnOlderConnectionSaysNothingOfThisOne() {
    var hold = hold()
    // A connection begins with nothing held; what was handed over on the one before may be settled late.
    #expect(!hold.isHolding && hold.deadline(after: 0) == nil)
    hold.held(2, count: 1, bytes: 1, at: 0)
    hold.settled(through: 1)
    #expect(hold.isHolding)
    hold.settled(through: 2)
    #expect(!hold.isHolding)
    // An older number that comes late changes nothing.
    hold.held(3, count: 1, bytes: 1, at: 0)
    hold.settled(through: 2)
    #expect(hold.isHolding)
  }
}
