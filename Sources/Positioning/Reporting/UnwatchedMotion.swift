internal import Glibc
internal import Spatial

/// Possible motion of a vehicle without fixes, which limits the validity of a bound.
///
/// The comment of each parameter lists other values with the result on the drives of `BoundedPromiseTests`
/// with tunnels and sleep: number of reports, and share of the route with a valid bound. The chosen values
/// result in 245 and 0.652. None of the values violated a bound there, nor did a quarter of the published
/// growth: top speed and acceleration are decisive, which belong to the activity.
struct UnwatchedMotion: Sendable {
  /// Maximum speed in m/s.
  let topSpeed: Double
  /// Maximum acceleration in m/s² when braking, turning or starting.
  let acceleration: Double

  init(_ activity: ActivityType) {
    topSpeed = activity.limits.fastest
    acceleration = activity.limits.strongestAcceleration
  }

  /// Share of a position's accuracy by which its error may change within seconds, because errors of receivers
  /// change slowly. Other values, 0: 247, 0.644; 0.25: 247, 0.653; 1: 246, 0.653.
  static let wander = 0.5
  /// Assumed error of a velocity in standard deviations. Other values, 0: 248, 0.644; 1: 248, 0.645; 3: 245,
  /// 0.651.
  static let confidence = 2.0

  /// Returns the time in s after a fix, or before it, for which the prediction stays within its bound
  /// regardless of the motion.
  func seconds(within report: ReportPredictor, from sample: MotionSample) -> Double {
    let error = report.error(of: sample.coordinate, at: sample.timestamp) + report.wireError
    let change = max(sample.margin, Self.wander * sample.accuracy)
    let apart = (sample.velocity - report.velocity).squaredLength.squareRoot()
    return seconds(
      within: report.bound - error - change,
      apart: min(apart + Self.confidence * sample.velocityDeviation, topSpeed))
  }

  /// Returns the time in s until two objects, moving apart at an initial speed, may be `room` metres farther
  /// apart; 0 without room.
  func seconds(within room: Double, apart: Double) -> Double {
    guard room > 0 else { return 0 }
    return ((apart * apart + 2 * acceleration * room).squareRoot() - apart) / acceleration
  }
}
