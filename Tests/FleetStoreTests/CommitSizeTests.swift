import Fleet
import FleetStore
import Testing

@Suite struct CommitSizeTests {
  @Test func waitsForTheMostUntilItKnowsBetter() {
    var size = CommitSize(most: 2000)
    #expect(size.enough == 2000)
    // Time was over: that says nothing of how many there are.
    size.took(50, isExhausted: false)
    #expect(size.enough == 2000)
  }

  /// A broker that lets 20 be under way.
  @Test func learnsHowManyComeAtOnce() {
    var size = CommitSize(most: 2000)
    size.took(20, isExhausted: true)
    #expect(size.enough == 20)
    for _ in 0..<31 { size.took(20, isExhausted: false) }
    #expect(size.enough == 20)
    // Now and then it sees whether there is more, and there is not.
    size.took(20, isExhausted: false)
    #expect(size.enough == 40)
    size.took(20, isExhausted: true)
    #expect(size.enough == 20)
  }

  @Test func growsWithAStreamThatBegins() {
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
