internal import Glibc
internal import Spatial

/// Receivers whose reports are late.
extension NavigationFilter {
  /// The difference in s between the receiver's latency and the filter's, in addition to three standard deviations of the
  /// latter, from which the alignment restarts (0.3: a smaller one is corrected by the filter).
  private static let latencyLimit = 0.3
  /// The time constant in s with which `lateDistance` decreases in motion.
  private static let latencyMemory = 10.0

  /// Restarts the alignment if the receiver's latency is another one than assumed: by then, attitude and mounting have
  /// absorbed the difference. Until then, the radius covers it.
  mutating func observeLatency(_ fix: GNSSMeasurement) {
    // The course of a boat does not follow its rotation.
    guard parameters.isAxisObservable, let course = fix.course else { return }
    latency.observe(course.value, at: fix.time - course.span / 2, span: course.span)
    let assumed: LatencyEstimator.Estimate
    switch state {
    case .waiting: return
    case .aligning: assumed = alignment.latency(ofVelocity: fix.velocity != nil)
    case .aligned:
      assumed = filter.latency(ofVelocity: fix.velocity != nil)
      widen(assumed.latency, fix.interval)
    }
    guard let estimate = latency.estimate,
      abs(estimate.latency - assumed.latency) > Self.latencyLimit + 3 * assumed.deviation,
      revokedLatency.map({ abs(estimate.latency - $0) > Self.latencyLimit }) ?? true
    else { return }
    revokedLatency = estimate.latency
    kept = nil
    giveUp(.contradicted)
  }

  /// Updates `lateDistance` for the latency that the filter assumes, `interval` seconds after the last update.
  mutating func widen(_ assumed: Double, _ interval: Double) {
    let speed = hypot(filter.state.velocity.x, filter.state.velocity.y)
    // At rest there is no evidence for or against a latency, and the position still has the error of the drive.
    guard parameters.isAxisObservable, speed > LatencyEstimator.slowest else { return }
    let distance = speed * latency.doubt(about: assumed)
    lateDistance = max(distance, lateDistance * exp(-interval / Self.latencyMemory))
  }

  /// Returns the latency of the receiver's positions for a start.
  ///
  /// - Parameter hasVelocity: true if the receiver reports a velocity, whose latency is the one that is estimated.
  func startLatency(hasVelocity: Bool) -> LatencyEstimator.Estimate {
    guard var known = latency.estimate else {
      return LatencyEstimator.Estimate(
        latency: latency.likelier(than: 0) ?? 0, deviation: parameters.latencyPrior)
    }
    if hasVelocity { known.deviation = hypot(known.deviation, YawAlignment.velocityLatency) }
    return known
  }
}
