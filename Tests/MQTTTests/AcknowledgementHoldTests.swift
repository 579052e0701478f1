import Testing

@testable import MQTT

@Suite struct AcknowledgementHoldTests {
  @Test func nothingIsWrittenWhileSomethingIsUnstored() {
    var hold = AcknowledgementHold(countLimit: 100, byteLimit: 1000)
    #expect(!hold.isHolding && hold.mayRead)
    hold.held(1, count: 10, bytes: 100)
    #expect(hold.isHolding && hold.mayRead)
    hold.settled(through: 1)
    #expect(!hold.isHolding && hold.mayRead)
  }

  @Test func readingStopsAtTheBounds() {
    var hold = AcknowledgementHold(countLimit: 100, byteLimit: 1000)
    hold.held(1, count: 99, bytes: 10)
    #expect(hold.mayRead)
    hold.held(2, count: 1, bytes: 10)
    #expect(!hold.mayRead)
    hold.settled(through: 2)
    hold.held(3, count: 1, bytes: 1000)
    #expect(!hold.mayRead)
  }

  /// Or there would never be a moment at which everything is stored.
  @Test func readingPausesOnceAPartIsStored() {
    var hold = AcknowledgementHold(countLimit: 100, byteLimit: 1000)
    hold.held(1, count: 1, bytes: 1)
    hold.held(2, count: 1, bytes: 1)
    hold.settled(through: 1)
    #expect(hold.isHolding && !hold.mayRead)
    hold.settled(through: 2)
    #expect(!hold.isHolding && hold.mayRead)
    hold.held(3, count: 1, bytes: 1)
    #expect(hold.isHolding && hold.mayRead)
  }

  @Test func whatIsSettledOfAnOlderConnectionSaysNothingOfThisOne() {
    var hold = AcknowledgementHold(countLimit: 100, byteLimit: 1000)
    hold.held(1, count: 1, bytes: 1)
    hold.begin()
    #expect(!hold.isHolding)
    hold.held(2, count: 1, bytes: 1)
    hold.settled(through: 1)
    #expect(hold.isHolding)
    hold.settled(through: 2)
    #expect(!hold.isHolding)
    // An older number that comes late changes nothing.
    hold.held(3, count: 1, bytes: 1)
    hold.settled(through: 2)
    #expect(hold.isHolding)
  }
}
