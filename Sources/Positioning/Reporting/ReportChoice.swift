internal import Glibc
internal import Spatial

/// Chooses the report that is likely to stay valid longest.
///
/// Of the motions within the bound of every fix of the window, it takes the one nearest to where the vehicle is
/// expected in the next twenty seconds: it goes on as it moves now, its acceleration and turn die away. When no
/// motion is within the bound of the whole window, the one that covers most of it is as good as any, because its
/// end is known.
struct ReportChoice: Sendable {
  // The figures are those of `VelocityEstimate`, which says what they were fitted on.

  /// Seconds: how far ahead the vehicle's way is guessed. 15: 0.938, 30: 0.936.
  private static let horizon = 20
  /// Seconds: how fast acceleration and turn die away. 3: 0.942, 8: 0.945.
  private static let persistence = 5.0
  /// Drivers undo half of what they do. 0.3: 0.938, 0.6: 0.937.
  private static let accelerationShare = 0.45
  /// The same of turns.
  private static let turnShare = 0.4
  /// Metres, and metres per second: how the guess's deviation grows.
  private static let deviation = (start: 10.0, growth: 2.0)

  /// Metres.
  var bound: Double

  /// - Parameters:
  ///   - window: the fixes that may be looked at, from the one at which the report takes effect; not empty.
  ///   - estimate: how the vehicle moves at the last of the window.
  func report(for window: ArraySlice<MotionSample>, estimate: VelocityEstimate, delay: Double)
    -> ReportPredictor?
  {
    guard let first = window.first, let last = window.last else { return nil }
    let frame = LocalFrame(origin: first.coordinate)
    // Time is counted back from the newest fix in units of the window, which keeps the equations well scaled.
    let unit = max(1, last.timestamp.seconds(since: first.timestamp))
    func time(_ sample: MotionSample) -> Double { sample.timestamp.seconds(since: last.timestamp) / unit }
    let points = window.map { TimedPoint(time: time($0), position: frame.offset(of: $0.coordinate)) }[...]
    // What the wire and the frame may add later is kept free now.
    let line = BoundedLine(bound: bound * 0.999 - 0.002 - 0.001 * fastest(window))
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

  /// The way ahead, second by second.
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
