import TestSupport
import Testing

@testable import Fleet

@Suite struct SequenceGapsTests {
  @Test func countsWhatIsMissingUntilItComes() {
    var gaps = SequenceGaps(startingWith: 10)
    #expect(gaps.note(11) == .next && gaps.missing == 0)
    #expect(gaps.note(15) == .next && gaps.missing == 3)
    #expect(gaps.note(13) == .late && gaps.missing == 2)
    #expect(gaps.note(13) == .duplicate && gaps.note(11) == .duplicate && gaps.note(15) == .duplicate)
    #expect(gaps.note(12) == .late && gaps.note(14) == .late && gaps.missing == 0 && gaps.gaps.isEmpty)
    #expect(gaps.note(9) == .unknown)
  }

  /// Every order of a sequence with repetitions ends with nothing missing and the repetitions counted.
  @Test(arguments: 0..<20 as Range<UInt64>) func anyOrderFillsUp(seed: UInt64) {
    var generator = SplitMix(seed: seed)
    let numbers = (Array(2...200 as ClosedRange<UInt64>) + [5, 50, 77]).shuffled(using: &generator)
    var gaps = SequenceGaps(startingWith: 1)
    var counts: [SequenceGaps.Outcome: Int] = [:]
    for number in numbers { counts[gaps.note(number), default: 0] += 1 }
    #expect(gaps.missing == 0, "seed \(seed)")
    #expect(counts[.duplicate] == 3 && counts[.unknown] == nil, "seed \(seed)")
  }

  @Test func memoryIsBoundedHoweverManyGaps() {
    var gaps = SequenceGaps(startingWith: 0)
    for number in 1...10_000 as ClosedRange<UInt64> { _ = gaps.note(number * 2) }
    #expect(gaps.gaps.count == SequenceGaps.capacity && gaps.missing == 10_000)
    #expect(gaps.note(3) == .unknown)
  }

  @Test func theLargestNumbersDoNotOverflow() {
    var gaps = SequenceGaps(startingWith: 0)
    #expect(gaps.note(.max) == .next && gaps.missing == .max - 1)
    #expect(gaps.note(.max - 1) == .late && gaps.note(.max) == .duplicate && gaps.note(1) == .late)
  }
}
