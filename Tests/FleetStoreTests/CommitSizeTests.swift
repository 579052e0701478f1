import Fleet
import FleetStore
import Testing

@Suite struct CommitSizeTests {
  @Test func startsWithTheLargestSize() {
    var size = CommitSize(most: 2000)
    #expect(size.enough == 2000)
    // The time limit has expired: the number of messages in flight is still unknown.
    size.took(50, isExhausted: false)
    #expect(size.enough == 2000)
  }

  /// A broker that allows 20 messages in flight.
  @Test func learnsTheNumberOfMessagesInFlight() {
    var size = CommitSize(most: 2000)
    size.took(20, isExhausted: true)
    #expect(size.enough == 20)
    for _ in 0..<31 { size.took(20, isExhausted: false) }
    #expect(size.enough == 20)
    // From time to time it tries a larger size; here there are no more messages.
    size.took(20, isExhausted: false)
    #expect(size.enough == 40)
    size.took(20, isExhausted: true)
    #expect(size.enough == 20)
  }

  @Test func growsWithTheNumberOfMessages() {
    var size = CommitSize(most: 2000)
    size.took(1, isExhausted: true)
    #expect(size.enough == 1)
    size.took(70, isExhausted: false)
    #expect(size.enough == 70)
    var commits = 1
    while size.enough < 2000 {
      size.took(size.enough, isExhausted: false)
      commits += 1
    }
    #expect(commits <= 6 * 32)
    size.took(9000, isExhausted: false)
    #expect(size.enough == 2000)
  }

  @Test func isNeverBelowOne() {
    var size = CommitSize(most: 1)
    size.took(0, isExhausted: true)
    #expect(size.enough == 1)
  }
}
