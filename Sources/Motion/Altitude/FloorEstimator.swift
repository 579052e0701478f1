internal import Glibc

/// Counts levels from where the receiver lost the sky, by the height that the pressure shows.
///
/// The levels of a garage are 2.9 m apart, give or take 0.25 m: clear heights of 2.1 m and more, and a ceiling (E. Neufert,
/// "Architects' Data", multi-storey parking). The probability of each is that of its height in what is known of the vehicle's.
struct FloorEstimator: Sendable {
  /// m in the standard atmosphere where the sky was last seen, and when; nil where that is not known or no building is.
  private var entry: (height: Double, time: Double)?
  private var latest: PressureLevel?
  /// s under cover and on the move.
  private var moving = 0.0

  /// s without a fix from which on the sky is hidden, and without a pressure after which the way is unknown.
  private static let (hidden, gap) = (10.0, 30.0)
  /// m/s: whoever is faster is in a tunnel.
  private static let fastest = 10.0
  /// m between levels, and deviation of that.
  private static let (storey, storeyDeviation) = (2.9, 0.25)
  private static let most = 20
  /// m, one deviation: fan and doors.
  private static let cabin = 0.5
  private static let leastConfidence = 0.5

  mutating func reset() { self = FloorEstimator() }

  /// The sky is seen.
  /// - Parameter speed: m/s; nil when unknown.
  mutating func observeSky(_ level: PressureLevel, at time: Double, speed: Double?) {
    // Nobody drives into a garage faster than that, or finds out without a speed.
    entry = speed.map { $0 <= Self.fastest } == true ? (level.height(at: time), time) : nil
    moving = 0
  }

  mutating func observe(speed: Double) {
    if speed > Self.fastest { entry = nil }
  }

  /// The receiver sleeps: where the sky ends is not seen. What stands on its level stays there.
  mutating func observeReceiverOff(isHeld: Bool) {
    if !isHeld || !isCovered { entry = nil }
  }

  private var isCovered: Bool {
    guard let entry, let latest else { return false }
    return latest.time - entry.time > Self.hidden
  }

  /// - Parameter isHeld: whether the height is that of the level before.
  mutating func process(_ level: PressureLevel, isHeld: Bool) {
    defer { latest = level }
    guard let before = latest else { return }
    if isHeld {
      entry?.height += level.height - before.height
    } else if level.time - before.time > Self.gap {
      entry = nil
    } else if level.time - (entry?.time ?? level.time) > Self.hidden {
      moving += level.time - before.time
    }
  }

  /// Nil under the sky, where it is not known how the vehicle came under cover, and where no level is likelier than all others
  /// together.
  var floor: Floor? {
    guard let entry, let latest, isCovered else { return nil }
    let height = latest.height - entry.height
    let scaled = AltitudeFilter.scale * height
    let variance =
      Self.cabin * Self.cabin + PressureDrift.variance(after: moving) + scaled * scaled
      + latest.deviation * latest.deviation
    var best = (level: 0, likelihood: 0.0)
    var all = 0.0
    for level in -Self.most...Self.most {
      let apart = height - Double(level) * Self.storey
      let spread = Double(level) * Self.storeyDeviation
      let total = variance + spread * spread
      let likelihood = exp(-0.5 * apart * apart / total) / total.squareRoot()
      all += likelihood
      if likelihood > best.likelihood { best = (level, likelihood) }
    }
    guard all > 0, best.likelihood >= Self.leastConfidence * all else { return nil }
    return Floor(
      level: best.level, confidence: best.likelihood / all, height: height,
      heightAccuracy: variance.squareRoot())
  }
}
