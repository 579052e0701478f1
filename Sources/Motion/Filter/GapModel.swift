internal import Glibc
internal import Spatial

/// Estimates the rotation during an interval without gyroscope samples, and its error, from recent changes of
/// the rate.
///
/// Short gaps are bridged by a cubic through samples and slopes at both ends. In long gaps the mean of both
/// ends becomes a poor estimate of the mean between them; a regression over the last seconds determines how
/// poor.
struct GapModel: Sendable {
  /// Mean square of the rate.
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
  /// For 2, 4 and 8 spans: mean squares of the mean rate and of the mean of its ends, and their mean product.
  private var inner = Vector3.zero
  private var ends = Vector3.zero
  private var product = Vector3.zero
  /// Slope of the rate before the newest sample in rad/s².
  private var slope = Vector3.zero

  struct Bridge: Sendable {
    /// Scale factor of the trapezoid.
    var factor = 1.0
    /// Variance per axis of the resulting angle in rad².
    var variance = 0.0
  }

  /// A gap whose correction waits for the slope after it.
  private var open: (interval: Double, slope: Vector3, rate: Vector3, time: Double)?

  init() { means = InlineArray(repeating: .zero) }

  /// Returns whether a rate is an outlier: ten deviations of this motion's changes away from the previous
  /// one, and enough to turn the attitude by 0.01 rad. Impacts and shakes reach that too, but for more than
  /// one sample.
  @inline(__always)
  func isFar(_ change: Vector3, interval: Double) -> Bool {
    let square = interval * interval
    return change.dot(change) * square > 1e-4 + 100 * accelerationSquare * square * square
  }

  /// Adds an ignored sample to the statistics of changes, so that a motion with such changes soon passes.
  mutating func observeOutlier(_ change: Vector3, interval: Double) {
    let slope = (1 / interval) * change
    accelerationSquare += min(1, 0.5 * interval) * (slope.dot(slope) - accelerationSquare)
  }

  /// Adds an ordinary sample.
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

  /// Returns the rotation vector to add one sample after a gap, when the slope after it is available: the
  /// difference between cubic and trapezoid, faded out for long gaps.
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
      // A motion that has just started is not yet in the statistics.
      deviation = max(deviation, 0.3 * interval * min(1, span / 8) * max(before.length, after.length))
    }
    result.variance = deviation * deviation / 3 + 1e-6 * interval * interval
    return result
  }

  /// Returns slope and residual variance of the regression of the mean rate on the mean of its ends, for a
  /// gap in spans.
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
