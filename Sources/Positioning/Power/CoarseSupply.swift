public import Sensors
public import Spatial

/// Possible contribution of radios to the position, as considered by `PowerPlanner`.
public struct CoarseSupply: Hashable, Sendable {
  /// The radios to scan next: the cheapest sufficient ones.
  public var radios: Set<SensorKind>
  /// Energy of one scan in J; 0 if unknown.
  public var joules: Double
  /// Power of the receiver in W; 0 if unknown.
  public var receiverPower: Double
  /// Time of the radios' newest position; nil without one.
  public var timestamp: Timestamp?
  /// Accuracy in m (68 %) of the radios' newest position.
  public var radius: Double
  /// Time of the radios' last answer, with or without a position; nil before the first.
  public var answered: Timestamp?
  /// Number of consecutive answers without a position.
  public var failedScans: Int
  /// True if a scan now can be used for learning.
  public var isLearning: Bool

  public init(
    radios: Set<SensorKind>, joules: Double = 0, receiverPower: Double = 0, timestamp: Timestamp? = nil,
    radius: Double = .infinity, answered: Timestamp? = nil, failedScans: Int = 0, isLearning: Bool = false
  ) {
    self.radios = radios
    self.joules = joules
    self.receiverPower = receiverPower
    self.timestamp = timestamp
    self.radius = radius
    self.answered = answered
    self.failedScans = failedScans
    self.isLearning = isLearning
  }
}

extension PowerNeeds {
  /// Required accuracy in m from which radio positions are sufficient.
  public static let coarsest = 1000.0

  /// True if a radio position is accurate enough for all consumers. Headings require a course; error bounds,
  /// and boundaries of regions with a required accuracy, need the receiver.
  public var takesCoarsePositions: Bool {
    location.isWanted && tolerance >= Self.coarsest && !location.isHeadingWanted
  }

  /// Returns the accuracy in m (68 %) that a radio position must have. In motion it is finer, to leave a
  /// margin for the movement until the next position.
  public func coarseLimit(isAtRest: Bool) -> Double { tolerance / (isAtRest ? 2 : 4) }

  /// Returns the needs with the newest radio position in place of the receiver's, if the radio position is
  /// newer and accurate enough; otherwise the unchanged needs.
  func withCoarsePosition(isAtRest: Bool) -> PowerNeeds {
    guard let coarse, takesCoarsePositions, let seen = coarse.timestamp,
      coarse.radius <= coarseLimit(isAtRest: isAtRest), location.timestamp.map({ $0 < seen }) ?? true
    else { return self }
    var needs = self
    needs.location.timestamp = seen
    (needs.location.speed, needs.location.speedAccuracy) = (nil, nil)
    needs.location.horizontalAccuracy = coarse.radius
    needs.isSeenByRadios = true
    return needs
  }
}

/// The schedule of radio scans. A demand requests one immediate scan, and ends with the answer.
struct RadioPlan: Sendable {
  /// Time of the current request; nil without one.
  private(set) var asked: Timestamp?
  /// Earliest time of the next request after an answer was missing; nil for no restriction.
  private var notBefore: Timestamp?
  /// The next time at which `update` may change the demand without an event.
  private(set) var nextDeadline: Timestamp?

  /// Time in s after which a request without an answer is abandoned.
  static let longest = 30.0
  /// Returns the time in s to wait for an answer before the receiver is powered instead. A modem answers
  /// immediately; a Wi-Fi scan lasts four seconds.
  static func lead(_ supply: CoarseSupply) -> Double { supply.radios == [.cellular] ? 4 : 8 }
  /// Pauses in s until the next request: after a missing answer (`silence`), and after an answer without a
  /// position (`pause`, doubled each time up to `longestPause`).
  private static let (silence, pause, longestPause) = (300.0, 30.0, 1800.0)
  /// Minimum time in s between two answers.
  private static let spacing = 5.0

  /// - Parameter due: time at which a position is required; nil for none.
  mutating func update(_ supply: CoarseSupply?, due: Timestamp?, at time: Timestamp) {
    nextDeadline = nil
    guard let supply, !supply.radios.isEmpty else {
      (asked, notBefore) = (nil, nil)
      return
    }
    if let since = asked {
      if let answered = supply.answered, answered >= since {
        (asked, notBefore) = (nil, nil)
      } else if time.seconds(since: since) >= Self.longest {
        (asked, notBefore) = (nil, time.advanced(bySeconds: Self.silence))
      } else {
        // After `lead` the receiver is powered, and after `longest` the request is abandoned.
        let elapsed = time.seconds(since: since)
        let lead = Self.lead(supply)
        nextDeadline = since.advanced(bySeconds: elapsed < lead ? lead : Self.longest)
        return
      }
    }
    guard let due else { return }
    let start = max(due, earliest(supply))
    if start <= time {
      asked = time
      nextDeadline = time.advanced(bySeconds: Self.lead(supply))
    } else {
      nextDeadline = start
    }
  }

  /// Returns whether an answer is still awaited before the receiver is powered.
  func isAwaited(_ supply: CoarseSupply?, at time: Timestamp) -> Bool {
    guard let asked, let supply else { return false }
    return time.seconds(since: asked) < Self.lead(supply)
  }

  private func earliest(_ supply: CoarseSupply) -> Timestamp {
    var earliest = notBefore ?? Timestamp(nanoseconds: .min)
    if let answered = supply.answered {
      let doubled = Self.pause * Double(1 << min(max(supply.failedScans, 1) - 1, 10))
      let pause =
        supply.failedScans == 0 || supply.isLearning ? Self.spacing : min(Self.longestPause, doubled)
      earliest = max(earliest, answered.advanced(bySeconds: pause))
    }
    return earliest
  }
}
