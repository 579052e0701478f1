/// Decides when a service is asked, and when no more. A value without I/O.
///
/// The service is somebody else's, and may be broken or lie. So it is asked at a bounded rate and so often a day, later when it
/// is busy, and no more in this run when it refuses, fails, or says what the fleet knows better.
struct GeolocatePace {
  struct Limits: Hashable, Sendable {
    /// Seconds between two questions.
    var interval = 1.0
    /// Questions a day, of all runs that share a cache.
    var daily = 1000
    /// Seconds after which a busy service is asked again, doubled each time; and at most.
    var backoff = 2.0
    var longest = 300.0
    /// Times that it may be busy in succession, and fail in succession.
    var busy = 5
    var failures = 3
    /// Times from which on it may not contradict what is known, and the share of its answers that may do so at all: households move, and
    /// vehicles can be wrong.
    var contradictions = 5
    var contradicted = 0.1
  }

  enum Step: Hashable, Sendable {
    case ask
    /// Seconds.
    case wait(Double)
    /// No more in this run, for this reason.
    case stop(String)
  }

  private let limits: Limits
  private(set) var asked: Int
  private var next = -Double.infinity
  private var (busy, failures, contradictions, agreements) = (0, 0, 0, 0)
  /// Why no question is asked any more, other than that enough were.
  private(set) var ended: String?
  /// Whether it has said so often what the fleet knows better that nothing else of it is believed either.
  var isDistrusted: Bool {
    contradictions >= limits.contradictions
      && Double(contradictions) > limits.contradicted * Double(contradictions + agreements)
  }

  /// - Parameter asked: questions of this day before.
  init(_ limits: Limits, asked: Int) { (self.limits, self.asked) = (limits, asked) }

  /// - Parameter now: seconds of any clock that does not go back.
  func step(at now: Double) -> Step {
    if let ended { return .stop(ended) }
    if asked >= limits.daily {
      return .stop("\(limits.daily) questions a day are asked (--geolocate-daily)")
    }
    return now < next ? .wait(next - now) : .ask
  }

  /// - Parameter now: when the outcome came.
  mutating func observe(_ outcome: GeolocateOutcome, at now: Double) {
    asked += 1
    next = now + limits.interval
    switch outcome {
    case .answered, .unknown: (busy, failures) = (0, 0)
    case .interrupted: break
    case .refused(let reason): ended = reason
    case .failed(let reason):
      failures += 1
      if failures >= limits.failures { ended = "\(failures) questions in succession failed: \(reason)" }
    case .busy(let reason, let after):
      busy += 1
      let doubled = limits.backoff * Double(1 << min(busy - 1, 20))
      next = now + max(limits.interval, after ?? min(doubled, limits.longest))
      if busy >= limits.busy {
        ended = "\(reason), \(busy) times in succession"
      } else if let after, after > limits.longest {
        ended = "\(reason) and wants to be asked in \(Int(min(after, 1e9))) s again"
      }
    }
  }

  /// An answer agrees with what is known.
  mutating func agree() { agreements += 1 }

  /// An answer contradicts what is known.
  mutating func contradict() {
    contradictions += 1
    if isDistrusted {
      ended =
        "\(contradictions) of \(contradictions + agreements) answers contradict what vehicles have found; nothing of it is taken"
    }
  }
}
