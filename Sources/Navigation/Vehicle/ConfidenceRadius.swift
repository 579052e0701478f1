internal import Glibc

/// Radii of circles that contain a given share of a two-dimensional normal distribution.
enum ConfidenceRadius {
  /// The radius in units of the greater deviation, for ratios of the smaller to the greater deviation of 0,
  /// 0.1, … 1. Computed from the integral of R. S. Hoyt, "Probability functions for the modulus of the
  /// angular velocity of a moving point" (1947).
  private static let table68: InlineArray<11, Double> = [
    0.9945, 0.9995, 1.0152, 1.0438, 1.0889, 1.1481, 1.2152, 1.2865, 1.3599, 1.4344, 1.5096,
  ]
  private static let table95: InlineArray<11, Double> = [
    1.9600, 1.9625, 1.9704, 1.9842, 2.0051, 2.0359, 2.0813, 2.1460, 2.2303, 2.3318, 2.4477,
  ]

  /// Returns the 68 and 95 % radii in m.
  ///
  /// - Parameters:
  ///   - east: the variance in m².
  ///   - north: the variance in m².
  ///   - covariance: m².
  static func radii(east: Double, north: Double, covariance: Double) -> (share68: Double, share95: Double) {
    let mean = 0.5 * (east + north)
    let spread = hypot(0.5 * (east - north), covariance)
    let greater = (mean + spread).squareRoot()
    guard greater > 0 else { return (0, 0) }
    let ratio = min(1, max(0, mean - spread).squareRoot() / greater) * 10
    let index = min(9, Int(ratio))
    let part = ratio - Double(index)
    return (
      greater * (table68[index] * (1 - part) + table68[index + 1] * part),
      greater * (table95[index] * (1 - part) + table95[index + 1] * part)
    )
  }
}
