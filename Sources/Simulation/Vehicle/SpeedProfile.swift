internal import Glibc

/// The speed over the time of one lap: a uniform cubic B-spline, so that speed, acceleration and jerk are
/// continuous and each is exactly the derivative of the one before, as speed is of the distance.
///
/// Its coefficients are the mean speeds of a `SpeedPlan` in equal intervals. Averaging keeps what the plan
/// promises: the lap's length exactly, the bounds of speed and acceleration, and the places of the stops.
struct SpeedProfile: Sendable {
  struct Motion {
    /// Metres along the loop.
    var distance: Double
    /// m/s.
    var speed: Double
    /// m/s².
    var acceleration: Double
    /// m/s³.
    var jerk: Double
  }

  /// Seconds between the spline's knots.
  static let interval = 0.5
  /// How long a stop of the plan must be beyond the time to stand still, s: the spline blends what lies
  /// within half of it on either side.
  private static let blending = 5 * interval

  /// Coefficients and the sums of all coefficients before, padded at both ends for the spline's support.
  private var coefficients: [Double]
  private var sums: [Double]
  private static let padding = 3

  /// Seconds that one lap takes: a whole number of intervals.
  let duration: Double

  init(_ plan: SpeedPlan) {
    coefficients = [Double](repeating: 0, count: Self.padding)
    var distanceBefore = 0.0
    for distance in Self.distances(of: plan) {
      // Never negative: where the plan stands still, rounding might have it roll back.
      coefficients.append(max(0, distance - distanceBefore) / Self.interval)
      distanceBefore = distance
    }
    duration = Double(coefficients.count - Self.padding) * Self.interval
    coefficients.append(contentsOf: [Double](repeating: 0, count: Self.padding))
    sums = [0]
    sums.reserveCapacity(coefficients.count + 1)
    for coefficient in coefficients { sums.append(sums[sums.count - 1] + coefficient) }
  }

  /// The motion at a time of the lap, 0 ... `duration` s.
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
    // The integral of a basis function from its left end to here.
    let whole1 = 0.5 + (4 * f - 2 * f3 + 0.75 * f3 * f) / 6
    let whole2 = 0.5 - (4 * g - 2 * g3 + 0.75 * g3 * g) / 6
    let sum = sums[first] + c0 * (1 - g3 * g / 24) + c1 * whole1 + c2 * whole2 + c3 * f3 * f / 24
    return Motion(
      distance: sum * Self.interval, speed: speed, acceleration: slope / Self.interval,
      jerk: bend / (Self.interval * Self.interval))
  }

  /// The times of the lap in which the vehicle stands still.
  var standstills: [Range<Double>] {
    var result: [Range<Double>] = []
    var first: Int?
    for index in 0...coefficients.count {
      if index < coefficients.count, coefficients[index] == 0 {
        first = first ?? index
      } else if let start = first {
        first = nil
        // Four coefficients carry each moment; all of them must be zero.
        guard index - start > 3 else { continue }
        let begin = max(0, (Double(start - Self.padding) + 1.5) * Self.interval)
        let end = min(duration, (Double(index - 1 - Self.padding) - 0.5) * Self.interval)
        if begin < end { result.append(begin..<end) }
      }
    }
    return result
  }

  /// The distance that the plan has reached after each interval.
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
  /// How a driver keeps to a route.
  public struct DrivingStyle: Hashable, Sendable {
    /// Hardest acceleration from standstill, m/s²; it fades as the vehicle gets faster. 0.3 ... 2.5.
    public var acceleration = 1.9
    /// Hardest braking, m/s². 0.3 ... 3.5.
    public var braking = 2.4
    /// Lateral acceleration that the driver plans for in turns, m/s². 0.5 ... 3.
    public var lateralAcceleration = 2.4
    /// How fast the driver lets lateral acceleration change, m/s³; less is gentler steering. 0.5 ... 10.
    public var lateralJerk = 4.0

    public init() {}
  }
}

/// The fastest drive over a route within the driver's limits, over the distance: speed limits, turns and stops
/// bound the speed everywhere, a forward pass bounds acceleration and a backward pass braking.
///
/// Acceleration still jumps; `SpeedProfile` takes the jumps out.
struct SpeedPlan {
  struct Node {
    /// Metres from the start of the loop.
    var distance: Double
    /// m/s.
    var speed: Double
    /// Seconds of standing still here.
    var stop: Double?
  }

  private(set) var nodes: [Node] = []

  init(_ path: RoutePath, style: SimulatedDrive.DrivingStyle) {
    var limitBefore = Double.infinity
    for segment in path.segments {
      // Turns need steps that follow their curvature, straights only ones that follow the acceleration.
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

  /// The loop begins and ends at rest, so that one lap joins the next without a seam.
  private static let shortestStop = 1.0

  private mutating func limitAcceleration(_ style: SimulatedDrive.DrivingStyle) {
    for i in nodes.indices.dropFirst() {
      let (before, step) = (nodes[i - 1].speed, nodes[i].distance - nodes[i - 1].distance)
      // Engine power bounds the product of speed and acceleration: 35 % is left at 30 m/s.
      let acceleration = style.acceleration * max(0.35, 1 - before * 0.65 / 30)
      nodes[i].speed = min(nodes[i].speed, (before * before + 2 * acceleration * step).squareRoot())
    }
    for i in nodes.indices.dropLast().reversed() {
      let (after, step) = (nodes[i + 1].speed, nodes[i + 1].distance - nodes[i].distance)
      nodes[i].speed = min(nodes[i].speed, (after * after + 2 * style.braking * step).squareRoot())
    }
  }
}
