/// How likely something is and how likely it is not, each to its own relative precision: one less a very small
/// probability is no longer known from the difference.
@frozen
public struct Likelihood: Hashable, Sendable {
  /// 0 ... 1.
  public var isTrue: Double
  /// 0 ... 1.
  public var isFalse: Double

  /// - Parameter tail: the probability of the side that `isLikely` denies.
  init(_ isLikely: Bool, tail: Double) {
    let tail = min(1, max(0, tail))
    (isTrue, isFalse) = isLikely ? (1 - tail, tail) : (tail, 1 - tail)
  }

  public static let certain = Likelihood(true, tail: 0)
  public static let impossible = Likelihood(false, tail: 0)
}

extension Likelihood {
  /// That a position lies on the near side of a straight boundary `distance` metres away, when its error across that is
  /// normal with a standard deviation (m, more than 0). A negative distance is beyond the boundary.
  public static func ofHalfPlane(distance: Double, deviation: Double) -> Likelihood {
    Likelihood(distance > 0, tail: NormalDistribution.upperTail(abs(distance) / deviation))
  }
}
