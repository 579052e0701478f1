internal import Glibc
internal import Spatial

/// The path of a vehicle between two fixes with missing ones between them.
///
/// The cubic through both positions with both velocities (Hermite interpolation), and the maximum deviation
/// of the vehicle from it. If the acceleration differs from that of the cubic by at most a, the deviation at
/// a time s after one end of a gap T is at most a s² / 2, and at most a T² / 16 in the middle: acceleration to
/// one side for a quarter, to the other for a half, and back for a quarter.
struct GapPath {
  /// Longest gap in s that is interpolated.
  static let longest = 10.0
  /// Terms of the maximum acceleration that the cubic does not contain: a constant in m/s², and a multiple of
  /// the cubic's root mean square acceleration. On `gnss-imu-drive` and the Mountain View drive, with gaps of
  /// 2 to 11 s at every second, at most 0.78 m/s² and 1.56 times the cubic's acceleration were required.
  private static let (unseen, unseenShare) = (1.0, 2.0)

  private let start: MotionSample
  private let end: MotionSample
  private let frame: LocalFrame
  private let way: SIMD2<Double>
  /// Duration in s.
  private let duration: Double
  /// Maximum deviation in m/s² of the acceleration from that of the cubic.
  private let acceleration: Double
  /// Maximum error in m of the cubic by the errors of both ends.
  private let endError: Double

  /// Nil if the gap is too long, or a velocity is unknown.
  init?(from start: MotionSample, to end: MotionSample, physics: UnwatchedMotion) {
    duration = end.timestamp.seconds(since: start.timestamp)
    let deviation = hypot(start.velocityDeviation, end.velocityDeviation)
    guard duration > 0, duration <= Self.longest, deviation.isFinite else { return nil }
    (self.start, self.end) = (start, end)
    frame = LocalFrame(origin: start.coordinate)
    way = frame.offset(of: end.coordinate)
    let mean = way / duration
    // The velocities without their mean: the compiler takes a second for both in one expression.
    let (before, after) = (start.velocity - mean, end.velocity - mean)
    let first = -(4 * before + 2 * after) / duration
    let last = (4 * after + 2 * before) / duration
    let square = (first.squaredLength + last.squaredLength + (first * last).sum()) / 3
    acceleration = min(
      physics.acceleration, Self.unseen + Self.unseenShare * max(0, square).squareRoot())
    // Between two known errors, a position's error changes by half as much as after one.
    endError =
      UnwatchedMotion.wander / 2 * max(start.accuracy, end.accuracy)
      + UnwatchedMotion.confidence * deviation * duration / 8
  }

  /// Part of the bound in m that the samples of the gap need at most: the maximum distance of the vehicle from the
  /// cubic, in the middle, and the margins of both ends.
  var margin: Double { max(start.margin, end.margin) + endError + acceleration * duration * duration / 16 }

  /// Returns positions between the ends, in order, with their margins.
  /// - Parameter interval: interval of the receiver's fixes in s.
  func samples(every interval: Double) -> [MotionSample] {
    let count = Int(min(Self.mostSteps, max(2, (duration / interval).rounded())))
    return (1..<count).map { sample(Double($0) / Double(count)) }
  }

  /// Maximum number of steps in a gap.
  private static let mostSteps = 100.0

  private func sample(_ share: Double) -> MotionSample {
    let (s, rest) = (share, 1 - share)
    let position =
      s * s * (3 - 2 * s) * way
      + duration * s * rest * (rest * start.velocity - s * end.velocity)
    let velocity =
      6 * s * rest / duration * way + rest * (1 - 3 * s) * start.velocity + s * (3 * s - 2) * end.velocity
    let nearest = duration * min(s, rest)
    var sample = start
    sample.timestamp = start.timestamp.advanced(bySeconds: s * duration)
    sample.coordinate = frame.coordinate(at: position)
    sample.velocity = velocity
    sample.velocityDeviation = max(start.velocityDeviation, end.velocityDeviation)
    sample.accuracy = max(start.accuracy, end.accuracy)
    let deviation = acceleration * min(nearest * nearest / 2, duration * duration / 16)
    sample.margin = max(start.margin, end.margin) + endError + deviation
    return sample
  }
}
