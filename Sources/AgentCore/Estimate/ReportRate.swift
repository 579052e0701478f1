internal import Glibc
internal import Positioning

/// How often positions are told, as measured on recorded drives: nine of 433 km for the distance filter, two for the bounded
/// reports (`Tests/Benchmarks/RESULTS.md`, Reports).
enum ReportRate {
  /// m/s, the mean of the nine drives for a vehicle; guesses for the others.
  static func speed(of activity: ActivityType) -> Double {
    switch activity {
    case .automotive: 13.5
    case .pedestrian: 1.3
    case .other: 5
    }
  }

  /// Reports a second while moving, of a receiver that is always on.
  static func moving(_ settings: AgentConfiguration.LocationSettings) -> Double {
    let speed = speed(of: settings.activity)
    switch settings.policy {
    case .distance(nil): return 1
    // A report comes with the first fix beyond the distance: half a second late in the mean.
    case .distance(let filter?): return 1 / max(1, filter / speed + 0.5)
    case .bounded(let error, let delay):
      // Slower is easier: nobody strays by the error in less time than the way across it takes.
      return min(bounded(error: error, delay: delay), speed / max(error / 4, 0.1), 1)
    case .significant: return min(1 / 300.0, speed / 500)
    }
  }

  /// Reports on both drives, which lasted 2848 s together, by the delay of 0, 5 and 10 s.
  private static let measured: [(error: Double, reports: [Double])] = [
    (10, [285, 168, 139]), (20, [209, 137, 104]), (50, [115, 94, 79]),
  ]
  private static let delays = [0.0, 5, 10]

  /// Between the measured errors by a power law, beyond them by the nearest; between the delays straight.
  private static func bounded(error: Double, delay: Double) -> Double {
    let delay = min(max(delay, 0), 10)
    let index = delay < 5 ? 0 : 1
    let share = (delay - delays[index]) / 5
    func reports(_ row: [Double]) -> Double { row[index] * (1 - share) + row[index + 1] * share }
    let (low, high) = error < 20 ? (measured[0], measured[1]) : (measured[1], measured[2])
    let (a, b) = (reports(low.reports), reports(high.reports))
    let exponent = log(b / a) / log(high.error / low.error)
    return a * pow(max(error, 0.1) / low.error, exponent) / 2848
  }
}
