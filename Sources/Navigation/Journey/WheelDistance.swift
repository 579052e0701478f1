internal import Spatial

/// The way by the wheels since a moment, and by how much they err against the satellites.
struct WheelDistance: Hashable, Sendable {
  private(set) var last: WheelSpeed?
  /// Metres by the wheels, and the seconds in which they said something.
  private var (sum, covered) = (0.0, 0.0)
  /// Metres by satellites and by wheels on the same stretches.
  private var (truth, measured) = (0.0, 0.0)

  /// s between two speeds that belong to one another.
  private static let longestStep = 2.0
  /// Share of a stretch in which wheels must have spoken: those that speak once a second leave out its edges.
  private static let leastCover = 0.6
  /// Metres from which the scale is believed, and after which what was learned counts half: tyres wear and warm up.
  private static let (leastWay, memory) = (500.0, 10_000.0)
  /// m/s above which wheels are compared: below, sensors of wheels lose pulses and whole km/h say little.
  private static let slowestComparison = 5.0
  /// No tyre makes more of a difference.
  private static let scales = 0.8...1.25
  /// m/s: what a receiver says beyond this contradicts wheels that stand.
  private static let fastestStanding = 1.5

  mutating func process(_ speed: WheelSpeed) {
    guard speed.speed.isFinite, speed.speed >= 0, speed.speed < 150 else { return }
    if let last {
      let step = speed.timestamp.seconds(since: last.timestamp)
      guard step > 0 else { return }
      if step <= Self.longestStep {
        sum += (last.speed + speed.speed) / 2 * step
        covered += step
      }
    }
    last = speed
  }

  /// What the satellites' metres are to those of the wheels.
  var scale: Double {
    measured < Self.leastWay ? 1 : min(max(truth / measured, Self.scales.lowerBound), Self.scales.upperBound)
  }

  /// Metres on a stretch of so many seconds that began at the last `restart`; nil where the wheels said too little.
  func distance(seconds: Double) -> Double? {
    covered >= Self.leastCover * seconds ? scale * sum * seconds / covered : nil
  }

  /// Compares a stretch since the last `restart` with its way by satellites, in metres.
  mutating func learn(way: Double, seconds: Double) {
    guard seconds > 0, way > Self.slowestComparison * seconds, covered >= Self.leastCover * seconds, sum > 0
    else { return }
    truth += way
    measured += sum * seconds / covered
    if measured > Self.memory { (truth, measured) = (truth / 2, measured / 2) }
  }

  mutating func restart() { (sum, covered) = (0, 0) }

  /// Whether the wheels stand now, and a receiver's speed does not contradict it.
  func areStanding(at timestamp: Timestamp, receiver speed: Double) -> Bool {
    guard let last, last.speed == 0, speed < Self.fastestStanding else { return false }
    return abs(timestamp.seconds(since: last.timestamp)) <= Self.longestStep
  }
}
