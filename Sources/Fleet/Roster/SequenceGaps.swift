/// The received and missing numbers of a sequence.
///
/// Numbers can arrive late: a vehicle sends events before tracks, so that after an outage the sequence is
/// filled from several sides. Missing numbers are stored as ranges, oldest first. Memory is bounded; numbers
/// in ranges beyond the bound are considered lost.
///
/// A vehicle that was killed continues at the next multiple of `block`. Numbers skipped directly below such a
/// multiple were most likely never assigned, and do not count as missing. If one arrives nevertheless, it is
/// late.
package struct SequenceGaps: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    /// The next number, or a later one.
    case next
    /// A missing number.
    case late
    /// A number that was received before.
    case duplicate
    /// A number before the first one, or in a gap that was given up.
    case unknown
  }

  /// The maximum number of stored gaps.
  package static let capacity = 128

  /// The numbers continue at a multiple of this after a crash or a power cut, as the wire contract defines.
  package static let block: UInt64 = 1 << 16

  /// The maximum number of consecutive crashes without a message in between.
  private static let skippedBlocks: UInt64 = 16

  private(set) var gaps: [ClosedRange<UInt64>] = []
  package private(set) var missing: UInt64 = 0
  /// The ranges that were skipped below a multiple of the block, oldest first.
  private var skipped: [ClosedRange<UInt64>] = []
  private var first: UInt64
  private var highest: UInt64
  /// The number below which gaps were given up.
  private var givenUpBelow: UInt64 = 0

  /// Creates the state after the first number.
  ///
  /// - Parameter number: the first received number; earlier ones are ignored.
  package init(startingWith number: UInt64) {
    first = number
    highest = number
  }

  package mutating func insert(_ number: UInt64) -> Outcome {
    if number > highest {
      let boundary = number / Self.block * Self.block
      if boundary > highest + 1, boundary - highest <= Self.skippedBlocks * Self.block {
        skipped.append((highest + 1)...(boundary - 1))
        if skipped.count > Self.capacity { skipped.removeFirst() }
        if number > boundary { open(boundary...(number - 1)) }
      } else if number - highest > 1 {
        open((highest + 1)...(number - 1))
      }
      highest = number
      return .next
    }
    guard number >= first else { return .unknown }
    // The newest gaps are checked first, because late numbers mostly belong to them.
    guard let place = gaps.lastIndex(where: { $0.lowerBound <= number }), gaps[place].contains(number) else {
      if let place = skipped.lastIndex(where: { $0.contains(number) }) {
        Self.remove(number, from: &skipped, at: place)
        if skipped.count > Self.capacity { skipped.removeFirst() }
        return .late
      }
      return number < givenUpBelow ? .unknown : .duplicate
    }
    missing -= 1
    Self.remove(number, from: &gaps, at: place)
    trim()
    return .late
  }

  private static func remove(_ number: UInt64, from ranges: inout [ClosedRange<UInt64>], at place: Int) {
    let range = ranges.remove(at: place)
    if number < range.upperBound { ranges.insert((number + 1)...range.upperBound, at: place) }
    if number > range.lowerBound { ranges.insert(range.lowerBound...(number - 1), at: place) }
  }

  private mutating func open(_ gap: ClosedRange<UInt64>) {
    let (sum, overflow) = missing.addingReportingOverflow(gap.upperBound - gap.lowerBound + 1)
    missing = overflow ? .max : sum
    gaps.append(gap)
    trim()
  }

  private mutating func trim() {
    while gaps.count > Self.capacity { givenUpBelow = gaps.removeFirst().upperBound + 1 }
  }
}
