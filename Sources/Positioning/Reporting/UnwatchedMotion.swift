internal import Glibc
internal import Spatial
internal import VehicleData

/// Possible motion of a vehicle without fixes, which limits the validity of a bound.
///
/// The comment of each parameter lists results of other values on the drives of `BoundedPromiseTests` with
/// tunnels and sleep. The results are the number of reports, and the share of the route with a valid bound.
/// The chosen values result in 245 reports and a share of 0.652. No value violated a bound on these drives,
/// nor did a quarter of the published growth. The decisive values are top speed and acceleration, which
/// depend on the activity.
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
  /// change slowly. Number of reports and share with other values: 247 and 0.644 with 0, 247 and 0.653 with
  /// 0.25, 246 and 0.653 with 1.
  static let wander = 0.5
  /// Assumed error of a velocity in standard deviations. Number of reports and share with other values: 248
  /// and 0.644 with 0, 248 and 0.645 with 1, 245 and 0.651 with 3.
  static let confidence = 2.0

  /// Returns the time in s before and after a fix, for which the prediction stays within its bound regardless
  /// of the motion.
  func seconds(within report: ReportPredictor, from sample: MotionSample) -> Double {
    let error = report.error(of: sample.coordinate, at: sample.timestamp) + report.wireError
    let change = max(sample.margin, Self.wander * sample.accuracy)
    let apart = (sample.velocity - report.velocity).squaredLength.squareRoot()
    return seconds(
      within: report.bound - error - change,
      apart: min(apart + Self.confidence * sample.velocityDeviation, topSpeed))
  }

  /// Returns the time in s until the distance between two objects may have grown by `room` metres. The
  /// objects move apart at an initial speed; 0 without room.
  func seconds(within room: Double, apart: Double) -> Double {
    guard room > 0 else { return 0 }
    return ((apart * apart + 2 * acceleration * room).squareRoot() - apart) / acceleration
  }
}
