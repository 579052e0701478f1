public import Sensors
public import Spatial

/// What radios can tell of the position: what `PowerPlanner` weighs them by.
public struct CoarseSupply: Hashable, Sendable {
  /// The radios to be asked next: the cheapest that may do.
  public var radios: Set<SensorKind>
  /// Joules of asking them once; 0 where that is not known.
  public var joules: Double
  /// Watts of the receiver; 0 where that is not known.
  public var receiverPower: Double
  /// When the newest position is of that they gave; nil without one.
  public var timestamp: Timestamp?
  /// Metres at 68 % of that position.
  public var radius: Double
  /// When they last answered, whether with a position or not; nil before the first time.
  public var answered: Timestamp?
  /// Answers in succession that gave no position.
  public var vain: Int
  /// Whether what they would hear now can be learned from.
  public var isLearning: Bool

  public init(
    radios: Set<SensorKind>, joules: Double = 0, receiverPower: Double = 0, timestamp: Timestamp? = nil,
    radius: Double = .infinity, answered: Timestamp? = nil, vain: Int = 0, isLearning: Bool = false
  ) {
    self.radios = radios
    self.joules = joules
    self.receiverPower = receiverPower
    self.timestamp = timestamp
    self.radius = radius
    self.answered = answered
    self.vain = vain
    self.isLearning = isLearning
  }
}

extension PowerNeeds {
  /// Metres: from this accuracy on, positions by radios will do.
  public static let coarsest = 1000.0

  /// Whether a position by radios is good enough for all that wait for one. Headings want a course, and promised bounds and edges of
  /// regions that ask for an accuracy want the receiver.
  public var takesCoarsePositions: Bool {
    location.isWanted && tolerance >= Self.coarsest && !location.isHeadingWanted
  }

  /// Metres at 68 % of a position by radios that is good enough: on the way it must leave room until the next.
  public func coarseLimit(isAtRest: Bool) -> Double { tolerance / (isAtRest ? 2 : 4) }

  /// The same with the newest position by radios in the place of the receiver's, where that is older and the other is good enough.
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

/// When radios are asked what they hear. A demand asks them once, at once; it ends with the answer.
struct RadioPlan: Sendable {
  /// Since when they are asked.
  private(set) var asked: Timestamp?
  /// Before this they are not asked again, because they have not answered.
  private var notBefore: Timestamp?
  /// When `update` may say something else although nothing has happened.
  private(set) var nextDeadline: Timestamp?

  /// Seconds that an answer may take at all.
  static let longest = 30.0
  /// Seconds that an answer is awaited before the receiver is woken instead: a modem has it, a scan takes four.
  static func lead(_ supply: CoarseSupply) -> Double { supply.radios == [.cellular] ? 4 : 8 }
  /// Seconds until silent radios are asked again, and until those are that have found nothing, which doubles.
  private static let (silence, pause, longestPause) = (300.0, 30.0, 1800.0)
  /// Seconds between two answers.
  private static let spacing = 5.0

  /// - Parameter due: when a position is wanted; nil when none is.
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
        // By then the receiver is woken, and then they are given up.
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

  /// Whether an answer is still to be awaited before the receiver is woken.
  func isAwaited(_ supply: CoarseSupply?, at time: Timestamp) -> Bool {
    guard let asked, let supply else { return false }
    return time.seconds(since: asked) < Self.lead(supply)
  }

  private func earliest(_ supply: CoarseSupply) -> Timestamp {
    var earliest = notBefore ?? Timestamp(nanoseconds: .min)
    if let answered = supply.answered {
      let doubled = Self.pause * Double(1 << min(max(supply.vain, 1) - 1, 10))
      let pause = supply.vain == 0 || supply.isLearning ? Self.spacing : min(Self.longestPause, doubled)
      earliest = max(earliest, answered.advanced(bySeconds: pause))
    }
    return earliest
  }
}
