/// A scheduler of queries to a service. A value type without I/O.
///
/// External services can be faulty or malicious. The query rate and the number of queries per day are
/// limited. A busy service is retried later. In a run, a service is not queried again after it rejected the
/// client, failed repeatedly, or contradicted the fleet's data.
struct GeolocatePace {
  struct Limits: Hashable, Sendable {
    /// The interval between two queries in s.
    var interval = 1.0
    /// The maximum number of queries per day, over all runs with the same cache.
    var daily = 1000
    /// The initial delay in s before a busy service is queried again. The delay is doubled after each busy
    /// answer.
    var backoff = 2.0
    /// The maximum delay in s before a busy service is queried again.
    var longest = 300.0
    /// The number of consecutive busy answers after which the run stops.
    var busy = 5
    /// The number of consecutive failures after which the run stops.
    var failures = 3
    /// The minimum number of contradicting answers to distrust a service. Single contradictions are normal:
    /// access points move with households, and vehicles can be wrong.
    var contradictions = 5
    /// The share of contradicting answers above which a service is distrusted.
    var contradicted = 0.1
  }

  enum Step: Hashable, Sendable {
    case ask
    /// Wait this many seconds.
    case wait(Double)
    /// Stop querying in this run, for this reason.
    case stop(String)
  }

  private let limits: Limits
  private(set) var asked: Int
  private var next = -Double.infinity
  private var (busy, failures, contradictions, agreements) = (0, 0, 0, 0)
  /// The reason for which the service is not queried again in this run, other than the daily limit; nil if
  /// there is none.
  private(set) var ended: String?
  /// True if the service contradicted the fleet's data so often that none of its answers is used.
  var isDistrusted: Bool {
    contradictions >= limits.contradictions
      && Double(contradictions) > limits.contradicted * Double(contradictions + agreements)
  }

  /// Creates a schedule.
  ///
  /// - Parameter asked: the number of queries to the service today in earlier runs.
  init(_ limits: Limits, asked: Int) { (self.limits, self.asked) = (limits, asked) }

  /// Returns the next step.
  ///
  /// - Parameter now: seconds of any monotonic clock.
  func step(at now: Double) -> Step {
    if let ended { return .stop(ended) }
    if asked >= limits.daily {
      return .stop("the limit of \(limits.daily) queries a day is reached (--geolocate-daily)")
    }
    return now < next ? .wait(next - now) : .ask
  }

  /// Records the outcome of a query.
  ///
  /// - Parameter now: the time of the outcome, by the clock of `step(at:)`.
  mutating func observe(_ outcome: GeolocateOutcome, at now: Double) {
    asked += 1
    next = now + limits.interval
    switch outcome {
    case .answered, .unknown: (busy, failures) = (0, 0)
    case .interrupted: break
    case .refused(let reason): ended = reason
    case .failed(let reason):
      failures += 1
      if failures >= limits.failures { ended = "\(failures) queries in succession failed: \(reason)" }
    case .busy(let reason, let after):
      busy += 1
      let doubled = limits.backoff * Double(1 << min(busy - 1, 20))
      next = now + max(limits.interval, after ?? min(doubled, limits.longest))
      if busy >= limits.busy {
        ended = "\(reason), \(busy) times in succession"
      } else if let after, after > limits.longest {
        ended = "\(reason) and asks to retry in \(Int(min(after, 1e9))) s"
      }
    }
  }

  /// Records an answer that agrees with the fleet's data.
  mutating func agree() { agreements += 1 }

  /// Records an answer that contradicts the fleet's data.
  mutating func contradict() {
    contradictions += 1
    if isDistrusted {
      ended =
        "\(contradictions) of \(contradictions + agreements) answers contradict the vehicles' reports; none of its answers is used"
    }
  }
}
