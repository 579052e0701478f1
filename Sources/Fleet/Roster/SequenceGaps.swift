/// Which numbers of a sequence have come, and which are still missing.
///
/// Numbers may come late: a vehicle sends events before tracks, so after an outage the sequence fills from several
/// sides. What is missing is kept as ranges, oldest first; memory is bounded, and a range beyond the bound is given
/// up as missing for good.
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

  private(set) var gaps: [ClosedRange<UInt64>] = []
  package private(set) var missing: UInt64 = 0
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
      if number - highest > 1 { open((highest + 1)...(number - 1)) }
      highest = number
      return .next
    }
    guard number >= first else { return .unknown }
    // The newest gaps are asked first: that is where late ones come from.
    guard let place = gaps.lastIndex(where: { $0.lowerBound <= number }), gaps[place].contains(number) else {
      return number < givenUpBelow ? .unknown : .duplicate
    }
    missing -= 1
    let gap = gaps.remove(at: place)
    if number < gap.upperBound { gaps.insert((number + 1)...gap.upperBound, at: place) }
    if number > gap.lowerBound { gaps.insert(gap.lowerBound...(number - 1), at: place) }
    trim()
    return .late
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
