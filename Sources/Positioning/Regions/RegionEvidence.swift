internal import Glibc
internal import Spatial

/// What speaks for a change of a region's state, summed up over independent fixes.
///
/// Each fix that is likely on the other side counts by the decimal logarithm of how unlikely it is wrong: 2 for 99 %, 3
/// for 99.9 %. The errors of a receiver at rest stay the same for minutes, so fixes that are no farther apart than their
/// accuracy count as one, the best of them. A single fix that is less than 90 % likely there takes all back.
struct RegionEvidence: Hashable, Sendable {
  /// What a single fix counts at most.
  static let largestScore = 12.0
  /// Of a fix that does not take back what was there.
  private static let largestDoubt = 0.1

  private var settled = 0.0
  private var newest = 0.0
  private var place: Vector3?

  var isEmpty: Bool { place == nil }

  /// - Parameters:
  ///   - doubt: the probability that the fix is not on the other side.
  ///   - least: what a fix must count to count at all.
  ///   - position: of the fix, m, earth-centred.
  ///   - accuracy: of the fix, m at 68 %.
  /// - Returns: the sum; zero when this fix does not count.
  mutating func add(doubt: Double, least: Double, position: Vector3, accuracy: Double) -> Double {
    if doubt > Self.largestDoubt { self = RegionEvidence() }
    let score = min(Self.largestScore, -log10(doubt))
    guard score >= least else { return 0 }
    if let place, (position - place).length < accuracy {
      newest = max(newest, score)
    } else {
      settled += newest
      newest = score
      place = position
    }
    return settled + newest
  }
}
