internal import Glibc

/// Conversions of accuracies. A horizontal accuracy is the radius R of a circle that contains the true
/// position with 68 % confidence. If the errors in both axes are normal with the deviation σ, the distance
/// has a Rayleigh distribution: P(distance < r) = 1 - exp(-r² / 2σ²). So R = σ √(-2 ln 0.32) = 1.510 σ.
enum ErrorRadius {
  /// R / σ for a confidence of 68 %.
  private static let ratio = (-2 * log(0.32)).squareRoot()
  /// R / σ for a confidence of 95 %.
  private static let wideRatio = (-2 * log(0.05)).squareRoot()
  /// Deviations of a normal distribution that contain 95 %.
  private static let deviations = 1.959964

  /// Returns the standard deviation in each axis for a radius of 68 %.
  static func deviation(radius: Double) -> Double { radius / ratio }

  /// Returns the radius of 95 % for one of 68 %.
  static func wide(radius: Double) -> Double { radius / ratio * wideRatio }

  /// Returns the interval of 95 % for a standard deviation.
  static func wide(deviation: Double) -> Double { deviation * deviations }
}

extension Double {
  /// The number if it is finite and at least 0; otherwise nil.
  var ifMagnitude: Double? { isFinite && self >= 0 ? self : nil }
  /// The number if it is finite; otherwise nil.
  var ifFinite: Double? { isFinite ? self : nil }
}
