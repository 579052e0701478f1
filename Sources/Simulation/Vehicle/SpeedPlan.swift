internal import Glibc

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
