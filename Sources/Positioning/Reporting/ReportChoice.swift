internal import Glibc
internal import Spatial
internal import VehicleData

/// Chooses the report that probably stays valid longest.
///
/// Of the motions within the bound of every fix of the window, it chooses the one closest to the vehicle's
/// expected path in the next twenty seconds. The expected path is the current motion with decaying
/// acceleration and turn rate. If no motion satisfies all fixes, the motion that satisfies most fixes from
/// the first one on is chosen.
struct ReportChoice: Sendable {
  // "Relative number of reports" is the result defined in `VelocityEstimate`, which also names the drives.
  // With the chosen values it is 0.938.

  /// Prediction time in s. Relative number of reports with other values: 0.938 with 15 s, 0.936 with 30 s.
  private static let horizon = 20
  /// Decay time in s of acceleration and turn rate. Relative number of reports with other values: 0.942 with
  /// 3 s, 0.945 with 8 s.
  private static let persistence = 5.0
  /// Share of the acceleration that persists; drivers reverse half of it. Relative number of reports with
  /// other values: 0.938 with 0.3, 0.937 with 0.6.
  private static let accelerationShare = 0.45
  /// Share of the turn rate that persists.
  private static let turnShare = 0.4
  /// Initial standard deviation of the prediction in m, and its growth in m/s.
  private static let deviation = (start: 10.0, growth: 2.0)

  /// Bound in m.
  var bound: Double

  /// - Parameters:
  ///   - window: the fixes to consider, not empty. The report takes effect at the first one.
  ///   - estimate: estimated motion at the last fix of the window.
  func report(for window: ArraySlice<MotionSample>, estimate: VelocityEstimate, delay: Double)
    -> ReportPredictor?
  {
    guard let first = window.first, let last = window.last else { return nil }
    let frame = LocalFrame(origin: first.coordinate)
    // Time is counted back from the newest fix in units of the window, which keeps the equations well scaled.
    let unit = max(1, last.timestamp.seconds(since: first.timestamp))
    func time(_ sample: MotionSample) -> Double { sample.timestamp.seconds(since: last.timestamp) / unit }
    // The bound is reduced by a margin for the later rounding of the wire format and of the frame.
    let line = BoundedLine(bound: bound * 0.999 - 0.002 - 0.001 * fastest(window))
    let points = window.map { sample in
      let room = line.bound - sample.margin
      return TimedPoint(
        time: time(sample), position: frame.offset(of: sample.coordinate),
        scale: room > 0 ? line.bound / room : 1)
    }[...]
    var motion = UniformMotion(
      position: points[0].position - first.velocity * unit * points[0].time, velocity: first.velocity * unit)
    var covered = 1
    if line.bound > 0 {
      while covered < points.count, let wider = line.feasible(points[...covered], from: motion) {
        motion = wider
        covered += 1
      }
      if covered == points.count {
        motion = line.nearest(
          to: expected(after: last, estimate: estimate, frame: frame, unit: unit), within: points,
          from: motion)
      }
    }
    return ReportPredictor(
      moment: first.timestamp,
      coordinate: frame.coordinate(at: motion.position + motion.velocity * points[0].time),
      velocity: motion.velocity / unit, bound: bound, delay: delay
    ).rounded
  }

  private func fastest(_ window: ArraySlice<MotionSample>) -> Double {
    window.reduce(0) { max($0, $1.velocity.squaredLength) }.squareRoot()
  }

  /// Returns the expected path, with one point for each second.
  private func expected(
    after last: MotionSample, estimate: VelocityEstimate, frame: LocalFrame, unit: Double
  ) -> [ExpectedPoint] {
    let trend = estimate.trend
    var position = frame.offset(of: last.coordinate)
    var velocity = estimate.velocity
    return (1...Self.horizon).map { second in
      let share = exp(-Double(second) / Self.persistence)
      let turn = Self.turnShare * share * trend.turnRate
      velocity = SIMD2(
        velocity.x * cos(turn) - velocity.y * sin(turn), velocity.x * sin(turn) + velocity.y * cos(turn))
      let speed = velocity.squaredLength.squareRoot()
      if speed > 1e-6 {
        velocity *= max(0, speed + Self.accelerationShare * share * trend.acceleration) / speed
      }
      position += velocity
      let deviation = Self.deviation.start + Self.deviation.growth * Double(second)
      return ExpectedPoint(
        point: TimedPoint(time: Double(second) / unit, position: position),
        weight: bound * bound / (deviation * deviation))
    }
  }
}
