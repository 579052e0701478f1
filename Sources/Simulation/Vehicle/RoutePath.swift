internal import Glibc
internal import Spatial

/// A route as a smooth curve in a flat frame, parametrized by the driven distance.
///
/// It starts at the start of the turn at the first waypoint, and is a closed loop of turns and straights.
struct RoutePath: Sendable {
  /// A turn or a straight.
  struct Segment: Sendable {
    /// Distance from the start of the loop in m.
    let start: Double
    let length: Double
    /// Position east and north in the path's frame, m.
    let origin: SIMD2<Double>
    /// Heading in rad counter-clockwise from east.
    let heading: Double
    /// The curve; nil for a straight.
    let blend: CornerBlend?
    /// Speed limit in m/s.
    let speedLimit: Double
    /// Duration of a stop at the segment's start in s; nil for none.
    let stopDuration: Double?
    let isTunnel: Bool
  }

  /// Direction and curvature of the path at one of its points.
  struct Direction {
    /// Heading in rad counter-clockwise from east.
    var heading: Double
    /// Curvature in 1/m, positive to the left.
    var curvature: Double
    /// Derivative of the curvature in 1/m².
    var curvatureChange: Double
  }

  let frame: LocalFrame
  let segments: [Segment]
  /// The length of the loop in m.
  let length: Double

  /// The maximum turn angle, rad.
  static let sharpestTurn = 150.0.radians
  /// The minimum turn radius, m.
  static let tightestRadius = 3.0

  /// Creates the path of a route.
  ///
  /// - Throws: a `SimulationError` with the waypoint that cannot be driven.
  init(_ route: Route) throws(SimulationError) {
    let waypoints = route.waypoints
    try Self.check(waypoints)
    let frame = LocalFrame(origin: Self.middle(of: waypoints))
    let corners = waypoints.map { frame.offset(of: $0.coordinate) }
    let count = corners.count
    let legs = (0..<count).map { corners[($0 + 1) % count] - corners[$0] }
    let legLengths = legs.map { ($0.x * $0.x + $0.y * $0.y).squareRoot() }
    let headings = legs.map { atan2($0.y, $0.x) }
    for index in 0..<count where legLengths[index] < 2 * Self.tightestRadius {
      throw .waypoint(
        index, problem: "only \(legLengths[index].rounded()) m to the next one; leave out one of them")
    }
    var blends: [CornerBlend] = []
    for index in 0..<count {
      let previous = (index + count - 1) % count
      let turn = signedDegrees(from: headings[previous].degrees, to: headings[index].degrees).radians
      // Slightly less than half of either street, so that consecutive turns do not overlap.
      let reach = 0.48 * min(legLengths[previous], legLengths[index])
      blends.append(try Self.blend(turn: turn, at: index, of: waypoints, reach: reach))
    }
    var segments: [Segment] = []
    var distance = 0.0
    var limit = waypoints.last { $0.speedLimit != nil }?.speedLimit ?? Self.defaultSpeedLimit
    var wasTunnel = waypoints[count - 1].beginsTunnel
    for index in 0..<count {
      let (previous, waypoint, blend) = ((index + count - 1) % count, waypoints[index], blends[index])
      let limitBefore = limit
      limit = waypoint.speedLimit ?? limit
      let approach = SIMD2(cos(headings[previous]), sin(headings[previous]))
      let departure = SIMD2(cos(headings[index]), sin(headings[index]))
      let (reach, nextReach) = (blend.tangentLength, blends[(index + 1) % count].tangentLength)
      if blend.length > 0 {
        segments.append(
          Segment(
            start: distance, length: blend.length, origin: corners[index] - reach * approach,
            heading: headings[previous], blend: blend, speedLimit: min(limitBefore, limit),
            stopDuration: waypoint.stopDuration, isTunnel: wasTunnel && waypoint.beginsTunnel))
        distance += blend.length
      }
      let straight = legLengths[index] - reach - nextReach
      segments.append(
        Segment(
          start: distance, length: straight, origin: corners[index] + reach * departure,
          heading: headings[index], blend: nil, speedLimit: limit,
          stopDuration: blend.length > 0 ? nil : waypoint.stopDuration, isTunnel: waypoint.beginsTunnel))
      distance += straight
      wasTunnel = waypoint.beginsTunnel
    }
    self.frame = frame
    self.segments = segments
    length = distance
  }

  /// Returns the index of the segment at a distance (0 ... length) along the loop, m.
  func segmentIndex(at distance: Double) -> Int {
    var (low, high) = (0, segments.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if segments[middle].start <= distance { low = middle } else { high = middle }
    }
    return low
  }

  func direction(at distance: Double) -> Direction {
    let segment = segments[segmentIndex(at: distance)]
    guard let blend = segment.blend else {
      return Direction(heading: segment.heading, curvature: 0, curvatureChange: 0)
    }
    let shape = blend.shape(at: distance - segment.start)
    return Direction(
      heading: segment.heading + shape.heading, curvature: shape.curvature,
      curvatureChange: shape.curvatureChange)
  }

  /// Returns the position east and north in `frame`, m.
  func position(at distance: Double) -> SIMD2<Double> {
    let segment = segments[segmentIndex(at: distance)]
    let (c, s) = (cos(segment.heading), sin(segment.heading))
    let along = distance - segment.start
    guard let blend = segment.blend else {
      return segment.origin + along * SIMD2(c, s)
    }
    let offset = blend.offset(at: along)
    return segment.origin + SIMD2(c * offset.x - s * offset.y, s * offset.x + c * offset.y)
  }

  func isTunnel(at distance: Double) -> Bool {
    segments[segmentIndex(at: distance)].isTunnel
  }

  private static let defaultSpeedLimit = 50 / 3.6

  private static func check(_ waypoints: [Route.Waypoint]) throws(SimulationError) {
    guard waypoints.count >= 3 else {
      throw .route(problem: "\(waypoints.count) waypoints; a loop requires at least 3")
    }
    for (index, waypoint) in waypoints.enumerated() {
      guard waypoint.coordinate.isValid, abs(waypoint.coordinate.latitude) < 89 else {
        throw .waypoint(index, problem: "\(waypoint.coordinate) is not on a road")
      }
      if let limit = waypoint.speedLimit, !(1...70).contains(limit) {
        throw .waypoint(index, problem: "a speed limit of \(limit) m/s; give 1 ... 70 m/s")
      }
      if let stop = waypoint.stopDuration, !(0...86_400).contains(stop) {
        throw .waypoint(index, problem: "a stop of \(stop) s; give 0 ... 86400 s")
      }
      if let radius = waypoint.turnRadius, !(tightestRadius...10_000).contains(radius) {
        throw .waypoint(index, problem: "a turn radius of \(radius) m; give \(tightestRadius) ... 10000 m")
      }
    }
  }

  private static func blend(
    turn: Double, at index: Int, of waypoints: [Route.Waypoint], reach: Double
  ) throws(SimulationError) -> CornerBlend {
    guard abs(turn) <= sharpestTurn else {
      throw .waypoint(
        index,
        problem: "turns by \(Int(abs(turn).degrees.rounded()))°, more than "
          + "\(Int(sharpestTurn.degrees.rounded()))°; lead the vehicle around by further waypoints")
    }
    // Smaller turns have larger radii, growing with the inverse square of the turn angle. Even the smallest turn is long enough
    // for smooth steering.
    let bluntness = 0.5 * Double.pi / max(abs(turn), 1e-6)
    let gentle = max(10, min(400, 10 * bluntness * bluntness))
    let radius = waypoints[index].turnRadius ?? max(gentle, CornerBlend.radius(turn: turn, length: 20))
    // A turn below a microradian is a rounding error of the coordinates and has no curve.
    let blend = CornerBlend(turn: abs(turn) < 1e-6 ? 0 : turn, radius: radius, reach: reach)
    guard blend.radius >= tightestRadius else {
      throw .waypoint(
        index, problem: "streets too short for its turn: \(blend.radius) m radius; move the waypoints apart")
    }
    return blend
  }

  private static func middle(of waypoints: [Route.Waypoint]) -> Coordinate {
    let first = waypoints[0].coordinate
    let latitudes = waypoints.map(\.coordinate.latitude)
    let turns = waypoints.map { signedDegrees(from: first.longitude, to: $0.coordinate.longitude) }
    let (south, north) = (latitudes.min() ?? first.latitude, latitudes.max() ?? first.latitude)
    let (west, east) = (turns.min() ?? 0, turns.max() ?? 0)
    return Coordinate(
      latitude: (south + north) / 2,
      longitude: signedDegrees(from: 0, to: first.longitude + (west + east) / 2))
  }
}
