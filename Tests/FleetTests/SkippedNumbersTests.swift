import Fleet
import Testing

/// Numbers that a crash of the vehicle skipped are not missing.
@Suite struct SkippedNumbersTests {
  @Test func numbersBelowAMultipleOfTheBlockAreNotMissing() {
    var gaps = SequenceGaps(startingWith: 40)
    let outcomes = [41, 65_536, 65_537].map { gaps.insert($0) }
    #expect(outcomes == [.next, .next, .next])
    #expect(gaps.missing == 0)
  }

  @Test func numbersAboveTheMultipleAreMissing() {
    var gaps = SequenceGaps(startingWith: 40)
    let outcomes = [65_539, 65_537, 41, 41, 65_537].map { gaps.insert($0) }
    #expect(outcomes == [.next, .late, .late, .duplicate, .duplicate])
    #expect(gaps.missing == 2)
  }

  @Test func aGapWithinABlockIsMissing() {
    var gaps = SequenceGaps(startingWith: 40)
    let outcomes = [50, 65_535, 65_536].map { gaps.insert($0) }
    #expect(outcomes == [.next, .next, .next])
    #expect(gaps.missing == 9 + 65_484)
  }
}
