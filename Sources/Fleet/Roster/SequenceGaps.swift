/// The received and the missing numbers of a sequence.
///
/// Numbers can arrive late: a vehicle sends events before tracks, so that after an outage the gaps are filled
/// in any order. Missing numbers are stored as ranges, oldest first. The number of ranges is limited; numbers
/// in dropped ranges count as lost.
///
/// After a vehicle was killed or lost its power, its numbers continue at the next multiple of `block`. The
/// numbers skipped directly below this multiple were most likely never assigned, and do not count as missing.
/// If a skipped number arrives nevertheless, it counts as late.
package struct SequenceGaps: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    /// A number above all received ones. Skipped numbers now count as missing.
    case next
    /// A number that counted as missing.
    case late
    /// A number that was received before.
    case duplicate
    /// A number below the first received one, or in a gap that was dropped.
    case unknown
  }

  /// The maximum number of gaps that are stored.
  package static let capacity = 128

  /// After a crash or a power failure, numbers continue at a multiple of this number, as the wire contract
  /// defines.
  package static let block: UInt64 = 1 << 16

  /// The maximum number of blocks that may be skipped at once: a vehicle can crash several times in
  /// succession before a message arrives.
  private static let skippedBlocks: UInt64 = 16

  package private(set) var gaps: [ClosedRange<UInt64>] = []
  package private(set) var missing: UInt64 = 0
  /// The ranges of numbers that were skipped below a multiple of `block` or by an interruption, oldest first.
  private var skipped: [ClosedRange<UInt64>] = []
  private var first: UInt64
  private var highest: UInt64
  /// True if messages may have been published without being sent to this subscriber.
  private var isInterrupted = false
  /// The number below which no gap is stored any more.
  private var givenUpBelow: UInt64 = 0

  /// Creates the state after the first received number.
  ///
  /// - Parameter number: the first received number; lower ones are `unknown` when they arrive.
  package init(startingWith number: UInt64) {
    first = number
    highest = number
  }

  /// Begins an interruption of the subscription: the numbers up to the next one above all received ones do not
  /// count as missing. If such a number arrives nevertheless, it counts as late.
  package mutating func interrupt() { isInterrupted = true }

  package mutating func insert(_ number: UInt64) -> Outcome {
    if number > highest {
      defer { isInterrupted = false }
      if isInterrupted {
        if number > highest + 1 { skip((highest + 1)...(number - 1)) }
        highest = number
        return .next
      }
      let boundary = number / Self.block * Self.block
      if boundary > highest + 1, boundary - highest <= Self.skippedBlocks * Self.block {
        skip((highest + 1)...(boundary - 1))
        if number > boundary { open(boundary...(number - 1)) }
      } else if number - highest > 1 {
        open((highest + 1)...(number - 1))
      }
      highest = number
      return .next
    }
    guard number >= first else { return .unknown }
    // The search starts with the newest gap, because late numbers mostly belong to it.
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

  private mutating func skip(_ numbers: ClosedRange<UInt64>) {
    skipped.append(numbers)
    if skipped.count > Self.capacity { skipped.removeFirst() }
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
