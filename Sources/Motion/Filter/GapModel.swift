internal import Glibc
internal import Spatial

/// Estimates the rotation during an interval without gyroscope samples, and its error, from recent changes of
/// the rate.
///
/// Short gaps are bridged by a cubic through samples and slopes at both ends. In long gaps, the mean of the
/// rates at both ends becomes a poor estimate of the mean rate between them. A regression over the last
/// seconds determines the error.
struct GapModel: Sendable {
  /// Mean squares of the rate in (rad/s)² and of its slope in (rad/s²)².
  private var rateSquare = 1e-2
  private var accelerationSquare = 0.1
  /// Length in s of the spans over which rates are averaged for the regression.
  private static let spanTime = 0.05
  /// Mean rates of the last nine spans, newest first.
  private var means: InlineArray<9, Vector3>
  private var meanCount = 0
  private var spanSum = Vector3.zero
  private var spanDuration = 0.0
  /// True at rest, where motion statistics are not updated.
  var isStill = true
  /// Statistics of intervals of 2, 4 and 8 spans. `inner` is the mean square of the interval's mean rate,
  /// `ends` that of the mean of the rates at its ends, and `product` the mean of their dot product.
  private var inner = Vector3.zero
  private var ends = Vector3.zero
  private var product = Vector3.zero
  /// Slope of the rate before the newest sample in rad/s².
  private var slope = Vector3.zero

  struct Bridge: Sendable {
    /// Factor to apply to the rotation obtained from the mean of the rates at both ends (trapezoidal rule).
    var factor = 1.0
    /// Variance per axis in rad² of the rotation angle estimated for the gap.
    var variance = 0.0
  }

  /// The last gap, until the next sample provides the slope after it for the correction; nil without such a
  /// gap.
  private var open: (interval: Double, slope: Vector3, rate: Vector3, time: Double)?

  init() { means = InlineArray(repeating: .zero) }

  /// Returns whether a rate is an outlier: its change from the previous rate is ten times the usual one, and
  /// large enough to turn the attitude by 0.01 rad. Impacts and shakes also change the rate as much, but for
  /// more than one sample.
  @inline(__always)
  func isFar(_ change: Vector3, interval: Double) -> Bool {
    let square = interval * interval
    return change.dot(change) * square > 1e-4 + 100 * accelerationSquare * square * square
  }

  /// Adds the change of an ignored sample to the statistics. If such changes continue, they soon count as
  /// usual and are no longer outliers.
  mutating func observeOutlier(_ change: Vector3, interval: Double) {
    let slope = (1 / interval) * change
    accelerationSquare += min(1, 0.5 * interval) * (slope.dot(slope) - accelerationSquare)
  }

  /// Adds the rate of a sample that is not an outlier.
  @inline(__always)
  mutating func observe(_ rate: Vector3, change: Vector3, interval: Double) {
    let gain = min(1, 0.5 * interval)
    // One division for the three axes: this runs for every sample.
    slope = (1 / interval) * change
    rateSquare += gain * (rate.dot(rate) + 1e-4 - rateSquare)
    accelerationSquare += gain * (slope.dot(slope) + 1e-2 - accelerationSquare)
    spanSum += rate * interval
    spanDuration += interval
    if spanDuration > Self.spanTime - 1e-9 { closeSpan() }
  }

  /// Returns a correction of the last gap's rotation vector, one sample after the gap, when the slope after
  /// it is available. It is the difference between cubic and trapezoid, faded out for long gaps. Nil without
  /// a gap to correct.
  mutating func correction(_ rate: Vector3, at time: Double) -> Vector3? {
    guard let gap = open, time > gap.time else { return nil }
    open = nil
    let after = (rate - gap.rate) / (time - gap.time)
    let relative = 0.5 * gap.interval / characteristicTime
    let square = relative * relative
    let weight = 1 / (1 + square * square)
    return (weight * gap.interval * gap.interval / 12) * (gap.slope - after)
  }

  /// Time in s in which the rate typically changes by its own magnitude.
  private var characteristicTime: Double { (rateSquare / accelerationSquare).squareRoot() }

  mutating func bridge(_ interval: Double, from before: Vector3, to after: Vector3, at time: Double)
    -> Bridge
  {
    open = (interval, slope, after, time)
    (spanSum, spanDuration, meanCount) = (.zero, 0, 0)
    slope = .zero
    let x = interval / characteristicTime
    var deviation =
      rateSquare.squareRoot() * interval * min(0.12 * x * x, 0.6 * (2.5 / (x + 0.1)).squareRoot())
    var result = Bridge()
    let span = interval / Self.spanTime
    if span > 1.5 {
      if ends.x > 0 {
        let (factor, variance) = regression(span, short: deviation * deviation / (interval * interval))
        result.factor = factor
        deviation = variance.squareRoot() * interval
      }
      // The statistics do not yet contain a motion that has just started, so the rates at both ends of the
      // gap give a lower limit.
      deviation = max(deviation, 0.3 * interval * min(1, span / 8) * max(before.length, after.length))
    }
    result.variance = deviation * deviation / 3 + 1e-6 * interval * interval
    return result
  }

  /// Returns slope and residual variance of the regression, interpolated for a gap of `span` spans. It is the
  /// regression of the mean rate in a gap on the mean of the rates at its ends.
  private func regression(_ span: Double, short: Double) -> (factor: Double, variance: Double) {
    func knot(_ k: Int) -> (Double, Double) {
      guard k > 0 else { return (1, min(short, rateSquare)) }
      let i = k - 1
      let factor = max(0, min(1.2, product[i] / (ends[i] + 1e-6)))
      return (factor, max(0, inner[i] - 2 * factor * product[i] + factor * factor * ends[i]))
    }
    let lower = span <= 2 ? 0 : span <= 4 ? 1 : 2
    let at = Double(1 << lower)
    let f = min(1, (span - at) / at)
    let (a, b) = (knot(lower), knot(lower + 1))
    return (a.0 + f * (b.0 - a.0), a.1 + f * (b.1 - a.1))
  }

  /// Updates the regression with the completed span.
  private mutating func closeSpan() {
    for k in stride(from: 8, to: 0, by: -1) { means[k] = means[k - 1] }
    means[0] = spanSum / spanDuration
    let gain = min(1, spanDuration / 5)
    (spanSum, spanDuration) = (.zero, 0)
    meanCount = min(meanCount + 1, 100)
    guard !isStill, meanCount > 2 else { return }
    var sum = Vector3.zero
    for k in 1..<9 {
      sum += means[k]
      let i = k == 2 ? 0 : k == 4 ? 1 : k == 8 ? 2 : -1
      guard i >= 0, meanCount > k else { continue }
      let end = 0.5 * (means[0] + means[k])
      let mean = (sum - means[k] + end) / Double(k)
      inner[i] += gain * (mean.dot(mean) - inner[i])
      product[i] += gain * (mean.dot(end) - product[i])
      ends[i] += gain * (end.dot(end) - ends[i])
    }
  }
}
