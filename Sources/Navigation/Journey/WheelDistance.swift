internal import Spatial

/// The distance by wheel speed, with a scale calibrated by GNSS.
struct WheelDistance: Hashable, Sendable {
  private(set) var last: WheelSpeed?
  /// The distance by wheels since the last `restart` in m, and the time covered by wheel speeds in s.
  private var (sum, covered) = (0.0, 0.0)
  /// The distances by GNSS (`truth`) and by wheels (`measured`) over the same segments, m.
  private var (truth, measured) = (0.0, 0.0)

  /// The maximum interval in s between consecutive wheel speeds.
  private static let longestStep = 2.0
  /// The share of a segment's duration that wheel speeds must cover. At one speed a second, the edges of a
  /// segment are not covered.
  private static let leastCover = 0.6
  /// The distance in m over which the wheels must have been calibrated before the scale is used, and the
  /// distance in m after which old data have half their weight, because tyres wear and warm up.
  private static let (leastWay, memory) = (500.0, 10_000.0)
  /// The speed in m/s above which wheels are calibrated. Below this speed, wheel sensors lose pulses, and a
  /// resolution of 1 km/h is too coarse.
  private static let slowestComparison = 5.0
  /// The plausible range of the scale.
  private static let scales = 0.8...1.25
  /// The receiver speed in m/s above which wheels that report zero are not believed.
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

  /// The ratio of the GNSS distance to the wheel distance.
  var scale: Double {
    measured < Self.leastWay ? 1 : min(max(truth / measured, Self.scales.lowerBound), Self.scales.upperBound)
  }

  /// Returns the distance in m of a segment of `seconds` since the last `restart`; nil if wheel speeds cover
  /// too little of the segment.
  func distance(seconds: Double) -> Double? {
    covered >= Self.leastCover * seconds ? scale * sum * seconds / covered : nil
  }

  /// Calibrates the scale with the GNSS distance (m) of the segment since the last `restart`.
  mutating func learn(way: Double, seconds: Double) {
    guard seconds > 0, way > Self.slowestComparison * seconds, covered >= Self.leastCover * seconds, sum > 0
    else { return }
    truth += way
    measured += sum * seconds / covered
    if measured > Self.memory { (truth, measured) = (truth / 2, measured / 2) }
  }

  mutating func restart() { (sum, covered) = (0, 0) }

  /// Returns whether the wheels are at rest and the receiver's speed (m/s) does not contradict that.
  func areStanding(at timestamp: Timestamp, receiver speed: Double) -> Bool {
    guard let last, last.speed == 0, speed < Self.fastestStanding else { return false }
    return abs(timestamp.seconds(since: last.timestamp)) <= Self.longestStep
  }
}
