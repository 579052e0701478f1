internal import Glibc
internal import Spatial

/// What a vehicle may do while nobody looks: how long a bound holds without a fix.
///
/// Sensitivity, on the drives of `BoundedPromiseTests` with tunnels and sleep: the reports, and the share of the way that is
/// promised. As chosen: 245, 0.652. No value of the figures below broke a promise there, nor did a growth of a quarter of
/// what is told: top speed and acceleration decide, and they are the activity's.
struct UnwatchedMotion: Sendable {
  /// m/s: nothing of its kind is faster.
  let topSpeed: Double
  /// m/s²: nothing of its kind brakes, turns or starts harder.
  let acceleration: Double

  init(_ activity: ActivityType) {
    topSpeed = activity.limits.fastest
    acceleration = activity.limits.strongestAcceleration
  }

  /// Share of a position's accuracy that it may wander within some seconds: a receiver's errors are slow. 0: 247, 0.644; 0.25:
  /// 247, 0.653; 1: 246, 0.653.
  private static let wander = 0.5
  /// Standard deviations of a velocity that it may be wrong by. 0: 248, 0.644; 1: 248, 0.645; 3: 245, 0.651.
  private static let confidence = 2.0

  /// Seconds from a fix, or back from it, for which the prediction stays within its bound whatever the vehicle does.
  func seconds(within report: ReportPredictor, from sample: MotionSample) -> Double {
    let error = report.error(of: sample.coordinate, at: sample.timestamp) + report.wireError
    let apart = (sample.velocity - report.velocity).squaredLength.squareRoot()
    return seconds(
      within: report.bound - error - Self.wander * sample.accuracy,
      apart: min(apart + Self.confidence * sample.velocityDeviation, topSpeed))
  }

  /// Seconds until two things that part at a speed, at first, may be so many metres farther apart; 0 where there is no
  /// room.
  func seconds(within room: Double, apart: Double) -> Double {
    guard room > 0 else { return 0 }
    return ((apart * apart + 2 * acceleration * room).squareRoot() - apart) / acceleration
  }
}

/// How often a receiver speaks, so that its silence is noticed.
struct FixCadence: Sendable {
  /// Seconds between the newest fixes, oldest first.
  private var steps: [Double] = []

  /// So many steps decide; a tunnel among them does not.
  private static let memory = 5
  /// Seconds, before three were seen.
  private static let usual = 1.0
  /// Seconds that a fix may be late. 0: 244, 0.651; 0.1 and 0.5: 245, 0.652; 1: 251, 0.645.
  private static let lateness = 0.25

  mutating func observe(_ step: Double) {
    if steps.count >= Self.memory { steps.removeFirst() }
    steps.append(step)
  }

  /// Seconds between two fixes: the median.
  var interval: Double { steps.count < 3 ? Self.usual : steps.sorted()[steps.count / 2] }

  /// Seconds without a fix after which one is missing.
  var silence: Double { 1.5 * interval + Self.lateness }
}
