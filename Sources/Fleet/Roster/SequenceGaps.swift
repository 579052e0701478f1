/// Which numbers of a sequence have come, and which are still missing.
///
/// Numbers may come late: a vehicle sends events before tracks, so after an outage the sequence fills from several
/// sides. What is missing is kept as ranges, oldest first; memory is bounded, and a range beyond the bound is given
/// up as missing for good.
///
/// A vehicle that was killed goes on at the next multiple of `block`: what a gap leaves out directly below one was most likely never
/// given to a message, and does not count as missing. Should it come all the same, it is late.
package struct SequenceGaps: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    /// The next one, or one further on.
    case next
    /// One that was missing.
    case late
    /// One that had come before.
    case duplicate
    /// Of before the first one that was seen, or of a gap that was given up: nothing can be said of it.
    case unknown
  }

  /// Gaps that are remembered at most.
  package static let capacity = 128

  /// After a crash or a power cut, numbers go on at a multiple of this (the wire contract says so).
  package static let block: UInt64 = 1 << 16

  /// Crashes in a row without a message in between that are believed.
  private static let skippedBlocks: UInt64 = 16

  private(set) var gaps: [ClosedRange<UInt64>] = []
  package private(set) var missing: UInt64 = 0
  /// What was skipped below a multiple of the block, oldest first.
  private var skipped: [ClosedRange<UInt64>] = []
  private var first: UInt64
  private var highest: UInt64
  /// Below it, gaps were given up.
  private var givenUpBelow: UInt64 = 0

  /// - Parameter number: the first that came; nothing is said of those before.
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
    // The newest gaps are asked first: that is where late ones come from.
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
