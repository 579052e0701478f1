internal import Glibc

/// Integrals of the standard normal distribution.
enum NormalDistribution {
  /// Returns the probability of a value greater than `x`.
  static func upperTail(_ x: Double) -> Double { 0.5 * erfc(x * 0.5.squareRoot()) }

  /// Positive abscissae and weights of ten-point Gauss-Legendre quadrature.
  private static let nodes: [(Double, Double)] = [
    (0.1488743389816312, 0.2955242247147529), (0.4333953941292472, 0.2692667193099963),
    (0.6794095682990244, 0.2190863625159820), (0.8650633666889845, 0.1494513491505806),
    (0.9739065285171717, 0.0666713443086881),
  ]

  /// Owen's T function: half of the probability in the plane between two lines through the origin, beyond the
  /// distance `h`.
  ///
  /// D. B. Owen, "Tables for computing bivariate normal probabilities", Ann. Math. Statist. 27 (1956), eq.
  /// 2.1. For `a` above 1 or below -1 it uses Owen's reflection formula 2.4, written in tail probabilities so
  /// that small values retain their relative precision.
  ///
  /// - Parameter h: 0 or more.
  static func owenT(_ h: Double, _ a: Double) -> Double {
    if a < 0 { return -owenT(h, -a) }
    guard a > 1 else { return quadrature(h, a) }
    let (q, r) = (upperTail(h), upperTail(h * a))
    return 0.5 * (q + r) - q * r - quadrature(h * a, 1 / a)
  }

  private static func quadrature(_ h: Double, _ a: Double) -> Double {
    guard h < 38 else { return 0 }
    var sum = 0.0
    for (node, weight) in nodes {
      for t in [0.5 * a * (1 - node), 0.5 * a * (1 + node)] {
        let s = 1 + t * t
        sum += weight * exp(-0.5 * h * h * s) / s
      }
    }
    return sum * 0.5 * a / (2 * .pi)
  }
}

/// The probabilities of a statement and of its negation. Each has full relative precision: subtracting a very
/// small probability from 1 would lose it.
@frozen
public struct Likelihood: Hashable, Sendable {
  /// The probability that the statement is true, 0 ... 1.
  public var isTrue: Double
  /// The probability that the statement is false, 0 ... 1.
  public var isFalse: Double

  /// Creates both probabilities from the smaller one.
  ///
  /// - Parameter tail: the probability that `isLikely` is wrong.
  init(_ isLikely: Bool, tail: Double) {
    let tail = min(1, max(0, tail))
    (isTrue, isFalse) = isLikely ? (1 - tail, tail) : (tail, 1 - tail)
  }

  public static let certain = Likelihood(true, tail: 0)
  public static let impossible = Likelihood(false, tail: 0)
}

extension Likelihood {
  /// Returns the probability that a position lies on the near side of a straight boundary `distance` metres
  /// away. Its error across the boundary is normal with the standard deviation `deviation` (m, > 0). A
  /// negative distance means that the estimate lies beyond the boundary.
  public static func ofHalfPlane(distance: Double, deviation: Double) -> Likelihood {
    Likelihood(distance > 0, tail: NormalDistribution.upperTail(abs(distance) / deviation))
  }
}
