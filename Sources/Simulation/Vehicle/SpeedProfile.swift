internal import Glibc

/// The speed over the time of one lap: a uniform cubic B-spline. Speed, acceleration and jerk are continuous.
/// The speed is exactly the derivative of the distance, the acceleration that of the speed, and the jerk that
/// of the acceleration.
///
/// The spline's coefficients are the mean speeds of a `SpeedPlan` in equal intervals. Averaging preserves the
/// properties of the plan: the exact length of the lap, the limits of speed and acceleration, and the
/// positions of the stops.
struct SpeedProfile: Sendable {
  struct Motion {
    /// Distance along the loop in m.
    var distance: Double
    /// Speed in m/s.
    var speed: Double
    /// Acceleration in m/s².
    var acceleration: Double
    /// Jerk in m/s³.
    var jerk: Double
  }

  /// Interval between the spline's knots in s.
  static let interval = 0.5
  /// Time in s added to each planned stop. The spline blends the plan's values over half of this time before
  /// and after a standstill, which shortens the standstill by this time.
  private static let blending = 5 * interval

  /// The coefficients and their prefix sums, padded at both ends for the spline's support.
  private var coefficients: [Double]
  private var sums: [Double]
  private static let padding = 3

  /// The duration of one lap in s, a whole number of intervals.
  let duration: Double

  init(_ plan: SpeedPlan) {
    coefficients = [Double](repeating: 0, count: Self.padding)
    var distanceBefore = 0.0
    for distance in Self.distances(of: plan) {
      // At a standstill of the plan, rounding could make the difference negative, and the vehicle would roll
      // back.
      coefficients.append(max(0, distance - distanceBefore) / Self.interval)
      distanceBefore = distance
    }
    duration = Double(coefficients.count - Self.padding) * Self.interval
    coefficients.append(contentsOf: [Double](repeating: 0, count: Self.padding))
    sums = [0]
    sums.reserveCapacity(coefficients.count + 1)
    for coefficient in coefficients { sums.append(sums[sums.count - 1] + coefficient) }
  }

  /// Returns the motion at a time of the lap, 0 ... `duration` s.
  func motion(at time: Double) -> Motion {
    let x = max(0, min(duration, time)) / Self.interval - 0.5
    let floor = x.rounded(.down)
    let (f, g) = (x - floor, 1 - (x - floor))
    let first = Int(floor) - 1 + Self.padding
    let (c0, c1) = (coefficients[first], coefficients[first + 1])
    let (c2, c3) = (coefficients[first + 2], coefficients[first + 3])
    let (f2, g2) = (f * f, g * g)
    let (f3, g3) = (f2 * f, g2 * g)
    let speed = (c0 * g3 + c1 * (3 * f3 - 6 * f2 + 4) + c2 * (3 * g3 - 6 * g2 + 4) + c3 * f3) / 6
    let slope = (-c0 * g2 + c1 * (3 * f2 - 4 * f) + c2 * (4 * g - 3 * g2) + c3 * f2) / 2
    let bend = c0 * g + c1 * (3 * f - 2) + c2 * (1 - 3 * f) + c3 * f
    // The integral of a basis function from its left end to this point.
    let whole1 = 0.5 + (4 * f - 2 * f3 + 0.75 * f3 * f) / 6
    let whole2 = 0.5 - (4 * g - 2 * g3 + 0.75 * g3 * g) / 6
    let sum = sums[first] + c0 * (1 - g3 * g / 24) + c1 * whole1 + c2 * whole2 + c3 * f3 * f / 24
    return Motion(
      distance: sum * Self.interval, speed: speed, acceleration: slope / Self.interval,
      jerk: bend / (Self.interval * Self.interval))
  }

  /// The time ranges of the lap in which the vehicle is at rest.
  var standstills: [Range<Double>] {
    var result: [Range<Double>] = []
    var first: Int?
    for index in 0...coefficients.count {
      if index < coefficients.count, coefficients[index] == 0 {
        first = first ?? index
      } else if let start = first {
        first = nil
        // The speed at any time depends on four coefficients, so the vehicle is at rest only where four in a
        // row are zero.
        guard index - start > 3 else { continue }
        let begin = max(0, (Double(start - Self.padding) + 1.5) * Self.interval)
        let end = min(duration, (Double(index - 1 - Self.padding) - 0.5) * Self.interval)
        if begin < end { result.append(begin..<end) }
      }
    }
    return result
  }

  /// Returns the planned distance after each interval.
  private static func distances(of plan: SpeedPlan) -> [Double] {
    var result: [Double] = []
    var time = 0.0
    func nextTime() -> Double { Double(result.count + 1) * interval }
    for (node, next) in zip(plan.nodes, plan.nodes.dropFirst()) {
      if let stop = node.stop {
        time += stop + blending
        while nextTime() <= time { result.append(node.distance) }
      }
      let step = next.distance - node.distance
      let crossing = 2 * step / (node.speed + next.speed)
      let acceleration = (next.speed - node.speed) / crossing
      while nextTime() <= time + crossing {
        let t = nextTime() - time
        result.append(node.distance + t * (node.speed + acceleration * t / 2))
      }
      time += crossing
    }
    let end = plan.nodes.last?.distance ?? 0
    let count = Int(((time + blending) / interval).rounded(.up))
    while result.count < count { result.append(end) }
    return result
  }
}

extension SimulatedDrive {
  /// The style of the simulated driver.
  public struct DrivingStyle: Hashable, Sendable {
    /// Maximum acceleration from standstill in m/s², 0.3 ... 2.5; it decreases with speed.
    public var acceleration = 1.9
    /// Maximum braking deceleration in m/s², 0.3 ... 3.5.
    public var braking = 2.4
    /// Planned lateral acceleration in turns in m/s², 0.5 ... 3.
    public var lateralAcceleration = 2.4
    /// Maximum rate of change of the lateral acceleration in m/s³, 0.5 ... 10; less is gentler steering.
    public var lateralJerk = 4.0

    public init() {}
  }
}

/// The fastest drive over a route within the driver's limits, as a function of distance. Speed limits, turns
/// and stops limit the speed everywhere; a forward pass limits acceleration, and a backward pass braking.
///
/// Its acceleration jumps; `SpeedProfile` smooths it.
struct SpeedPlan {
  struct Node {
    /// Distance from the start of the loop in m.
    var distance: Double
    /// Speed in m/s.
    var speed: Double
    /// Duration of a stop in s; nil for none.
    var stop: Double?
  }

  private(set) var nodes: [Node] = []

  init(_ path: RoutePath, style: SimulatedDrive.DrivingStyle) {
    var limitBefore = Double.infinity
    for segment in path.segments {
      // Turns need steps that resolve their curvature, straights only steps that resolve the acceleration.
      let steps =
        segment.blend == nil
        ? Int((segment.length / 2).rounded(.up)) : max(16, Int((segment.length * 2).rounded(.up)))
      let first = nodes.count
      for step in 0..<steps {
        let along = segment.length * Double(step) / Double(steps)
        var speed = step == 0 ? min(limitBefore, segment.speedLimit) : segment.speedLimit
        if let shape = segment.blend?.shape(at: along) {
          speed = min(speed, (style.lateralAcceleration / abs(shape.curvature)).squareRoot())
          speed = min(speed, cbrt(style.lateralJerk / abs(shape.curvatureChange)))
        }
        nodes.append(Node(distance: segment.start + along, speed: speed))
      }
      let stop = first == 0 ? max(Self.shortestStop, segment.stopDuration ?? 0) : segment.stopDuration
      if let stop {
        nodes[first].speed = 0
        nodes[first].stop = stop
      }
      limitBefore = segment.speedLimit
    }
    nodes.append(Node(distance: path.length, speed: 0))
    limitAcceleration(style)
  }

  /// The duration of a stop at the start and end of the loop, so that laps join without a jump.
  private static let shortestStop = 1.0

  private mutating func limitAcceleration(_ style: SimulatedDrive.DrivingStyle) {
    for i in nodes.indices.dropFirst() {
      let (before, step) = (nodes[i - 1].speed, nodes[i].distance - nodes[i - 1].distance)
      // Engine power limits the product of speed and acceleration: 35 % remain at 30 m/s.
      let acceleration = style.acceleration * max(0.35, 1 - before * 0.65 / 30)
      nodes[i].speed = min(nodes[i].speed, (before * before + 2 * acceleration * step).squareRoot())
    }
    for i in nodes.indices.dropLast().reversed() {
      let (after, step) = (nodes[i + 1].speed, nodes[i + 1].distance - nodes[i].distance)
      nodes[i].speed = min(nodes[i].speed, (after * after + 2 * style.braking * step).squareRoot())
    }
  }
}
