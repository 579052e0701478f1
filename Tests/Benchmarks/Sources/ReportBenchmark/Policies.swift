import Positioning
import Spatial

/// Results of a reporting policy for a track.
struct ReportingResult {
  var reports = 0
  /// Number of these reports that only withdraw the error bound.
  var withdrawals = 0
  /// Largest distance in m between a fix and the position that a subscriber shows for its moment, over all fixes with a guaranteed bound.
  var worstError = 0.0
}

/// Reporting policies to compare. Each is evaluated with a subscriber that has only the reports up to then.
enum Policy: String, CaseIterable {
  case bounded, linear, distance

  func run(_ track: [Location], epsilon: Double, delay: Double) -> ReportingResult {
    switch self {
    case .bounded: bounded(track, epsilon: epsilon, delay: delay)
    case .linear: stateless(track, epsilon: epsilon) { $0.velocity }
    case .distance: stateless(track, epsilon: epsilon) { _ in .zero }
    }
  }

  /// The subscriber shows positions after the delay; a report counts only if it was decided in time.
  private func bounded(_ track: [Location], epsilon: Double, delay: Double) -> ReportingResult {
    var reporter = BoundedReporter(epsilon: epsilon, delay: delay)
    var follower = ReportFollower()
    var result = ReportingResult()
    var shown = 0
    func take(_ reports: [ReportPredictor]) {
      for report in reports {
        follower.receive(report)
        result.reports += 1
        if report.validity.map({ $0 < BoundedReporter.lease }) ?? false { result.withdrawals += 1 }
      }
    }
    func show(until now: Timestamp, after: (Timestamp) -> Bool, by follower: ReportFollower) {
      while shown < track.count, case let due = track[shown].timestamp.advanced(bySeconds: delay), due <= now,
        after(due)
      {
        let position = follower.position(now: due)
        if position?.isPromised ?? true {
          result.worstError = max(
            result.worstError, position?.coordinate.distance(to: track[shown].coordinate) ?? .infinity)
        }
        shown += 1
      }
    }
    for location in track {
      while let deadline = reporter.nextDeadline, deadline < location.timestamp {
        show(until: deadline, after: { $0 < deadline }, by: follower)
        take(reporter.advance(to: deadline))
      }
      // Moments that are due before this fix are shown with the reports before it.
      show(until: location.timestamp, after: { $0 < location.timestamp }, by: follower)
      take(reporter.process(location))
    }
    // The drive ends when its last fix has been shown.
    let end = track.last?.timestamp.advanced(bySeconds: delay)
    while let deadline = reporter.nextDeadline, let end, deadline <= end {
      show(until: deadline, after: { $0 < deadline }, by: follower)
      take(reporter.advance(to: deadline))
    }
    show(until: Timestamp(nanoseconds: .max), after: { _ in true }, by: follower)
    return result
  }

  /// Reports the fix itself as soon as the error of the last report exceeds epsilon.
  private func stateless(
    _ track: [Location], epsilon: Double, velocity: (Location) -> SIMD2<Double>
  ) -> ReportingResult {
    var result = ReportingResult()
    var report: ReportPredictor?
    for location in track {
      if let error = report?.error(of: location.coordinate, at: location.timestamp), error <= epsilon {
        result.worstError = max(result.worstError, error)
        continue
      }
      report = ReportPredictor(
        moment: location.timestamp, coordinate: location.coordinate, velocity: velocity(location),
        bound: epsilon, delay: 0)
      result.reports += 1
    }
    return result
  }
}
