internal import Glibc
internal import Spatial

/// What a vehicle may do while nobody looks: how long a bound holds without a fix.
struct UnwatchedMotion: Sendable {
  /// m/s: nothing of its kind is faster.
  let topSpeed: Double
  /// m/s²: nothing of its kind brakes, turns or starts harder.
  let acceleration: Double

  init(_ activity: ActivityType) {
    topSpeed = activity.limits.fastest
    acceleration = activity.limits.strongestAcceleration
  }

  /// Share of a position's accuracy that it may wander within some seconds: a receiver's errors are slow.
  private static let wander = 0.5
  /// Standard deviations of a velocity that it may be wrong by.
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
  /// Seconds that a fix may be late.
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
