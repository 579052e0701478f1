internal import Glibc

/// How fast a thing that moves can get away from where it was last seen, or from where it was taken to go.
public struct Mobility: Hashable, Sendable {
  /// m/s, at most.
  public var topSpeed: Double
  /// m/s²: the largest acceleration, braking or turning that is kept up for some seconds.
  public var manoeuvre: Double

  public init(topSpeed: Double, manoeuvre: Double) {
    self.topSpeed = topSpeed
    self.manoeuvre = manoeuvre
  }

  /// A road vehicle. On recorded city drives the way off a straight line over eight seconds amounted to 3.3 m/s² once, in
  /// a bend taken fast, and otherwise to less than 2.
  public static let vehicle = Mobility(topSpeed: 60, manoeuvre: 3.5)
  /// A person or a bicycle.
  public static let pedestrian = Mobility(topSpeed: 12, manoeuvre: 1.5)
  /// Anything that moves, aircraft excepted.
  public static let other = Mobility(topSpeed: 90, manoeuvre: 5)

  /// Seconds until it may be `distance` metres from where it would be if it went on at constant speed and course: that
  /// speed may be wrong by `error` m/s already. Zero when the distance is not positive.
  public func secondsToStray(_ distance: Double, from speed: Double, error: Double) -> Double {
    // What comes the other way moves apart at both speeds.
    seconds(for: distance, startingAt: error, limit: min(max(0, speed), topSpeed) + topSpeed)
  }

  /// Seconds until it may have covered `distance` metres in any direction, from `speed` m/s on. Zero when the distance
  /// is not positive.
  public func secondsToCover(_ distance: Double, startingAt speed: Double) -> Double {
    seconds(for: distance, startingAt: speed, limit: topSpeed)
  }

  private func seconds(for distance: Double, startingAt speed: Double, limit: Double) -> Double {
    guard distance > 0 else { return 0 }
    let start = min(max(0, speed), limit)
    let rise = (limit - start) / manoeuvre
    let covered = (start + limit) / 2 * rise
    if distance > covered { return rise + (distance - covered) / limit }
    return ((start * start + 2 * manoeuvre * distance).squareRoot() - start) / manoeuvre
  }
}
