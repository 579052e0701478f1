internal import Glibc
internal import VehicleData

/// Counts levels from where the receiver lost the sky, using the height from air pressure.
///
/// Levels of a garage are 2.9 m ± 0.25 m apart: clear heights from 2.1 m plus a ceiling (E. Neufert,
/// "Architects' Data", multi-storey parking). The probability of each level follows from the distribution of
/// the vehicle's height.
struct FloorEstimator: Sendable {
  /// Height in m in the standard atmosphere and time in s when the sky was last visible. Nil if unknown, and
  /// if the vehicle was too fast to enter a building.
  private var entry: (height: Double, time: Double)?
  private var latest: PressureLevel?
  /// Time in s spent under cover and moving.
  private var moving = 0.0

  /// Time in s without a fix after which the sky counts as hidden, and time without a pressure after which
  /// the height change is unknown.
  private static let (hidden, gap) = (10.0, 30.0)
  /// Speed in m/s above which a vehicle without reception is in a tunnel, not in a garage.
  private static let fastest = 10.0
  /// Height of a storey in m, and its standard deviation.
  private static let (storey, storeyDeviation) = (2.9, 0.25)
  private static let most = 20
  /// Standard deviation in m of the height, caused by pressure changes when the fan or the doors are used.
  private static let cabin = 0.5
  private static let leastConfidence = 0.5

  mutating func reset() { self = FloorEstimator() }

  /// Records that the sky is visible.
  /// - Parameter speed: speed in m/s; nil if unknown.
  mutating func observeSky(_ level: PressureLevel, at time: Double, speed: Double?) {
    // Vehicles enter garages slowly. Without a speed, a tunnel cannot be excluded.
    entry = speed.map { $0 <= Self.fastest } == true ? (level.height(at: time), time) : nil
    moving = 0
  }

  mutating func observe(speed: Double) {
    if speed > Self.fastest { entry = nil }
  }

  /// Discards the entry if the receiver was switched off while moving, because the point where the sky ends
  /// is then unobserved. A vehicle at rest stays on its level.
  mutating func observeReceiverOff(isHeld: Bool) {
    if !isHeld || !isCovered { entry = nil }
  }

  private var isCovered: Bool {
    guard let entry, let latest else { return false }
    return latest.time - entry.time > Self.hidden
  }

  /// - Parameter isHeld: true if the height was carried over from the previous level.
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

  /// The most probable level. Nil under open sky, if the entry was not observed, and if the level's
  /// probability is below 50 %.
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
