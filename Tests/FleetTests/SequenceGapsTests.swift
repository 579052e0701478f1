import Fleet
import TestSupport
import Testing

@Suite struct SequenceGapsTests {
  @Test func countsMissingNumbersUntilTheyArrive() {
    var gaps = SequenceGaps(startingWith: 10)
    #expect(gaps.insert(11) == .next && gaps.missing == 0)
    #expect(gaps.insert(15) == .next && gaps.missing == 3)
    #expect(gaps.insert(13) == .late && gaps.missing == 2)
    #expect(gaps.insert(13) == .duplicate && gaps.insert(11) == .duplicate && gaps.insert(15) == .duplicate)
    #expect(gaps.insert(12) == .late && gaps.insert(14) == .late && gaps.missing == 0 && gaps.gaps.isEmpty)
    #expect(gaps.insert(9) == .unknown)
  }

  /// Every order of a sequence with duplicates: finally no number is missing, and the duplicates are counted.
  @Test(arguments: 0..<20 as Range<UInt64>) func anyOrderFillsUp(seed: UInt64) {
    var generator = SplitMix(seed: seed)
    let numbers = (Array(2...200 as ClosedRange<UInt64>) + [5, 50, 77]).shuffled(using: &generator)
    var gaps = SequenceGaps(startingWith: 1)
    var counts: [SequenceGaps.Outcome: Int] = [:]
    for number in numbers { counts[gaps.insert(number), default: 0] += 1 }
    #expect(gaps.missing == 0, "seed \(seed)")
    #expect(counts[.duplicate] == 3 && counts[.unknown] == nil, "seed \(seed)")
  }

  @Test func memoryIsBoundedHoweverManyGaps() {
    var gaps = SequenceGaps(startingWith: 0)
    for number in 1...10_000 as ClosedRange<UInt64> { _ = gaps.insert(number * 2) }
    #expect(gaps.gaps.count == SequenceGaps.capacity && gaps.missing == 10_000)
    #expect(gaps.insert(3) == .unknown)
  }

  @Test func theLargestNumbersDoNotOverflow() {
    var gaps = SequenceGaps(startingWith: 0)
    #expect(gaps.insert(.max) == .next && gaps.missing == .max - 1)
    #expect(gaps.insert(.max - 1) == .late && gaps.insert(.max) == .duplicate && gaps.insert(1) == .late)
  }

  @Test func numbersOfAnInterruptionAreNotMissing() {
    var gaps = SequenceGaps(startingWith: 1)
    _ = gaps.insert(4)
    gaps.interrupt()
    #expect(gaps.insert(3) == .late && gaps.insert(4) == .duplicate && gaps.missing == 1)
    #expect(gaps.insert(.max) == .next && gaps.missing == 1)
    #expect(gaps.insert(7) == .late && gaps.insert(7) == .duplicate && gaps.insert(2) == .late)
    #expect(gaps.missing == 0)
  }
}
