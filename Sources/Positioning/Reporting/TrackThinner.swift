public import Spatial

/// Thins a track to the fewest fixes whose interpolation in time stays within `epsilon` metres of every fix left out.
///
/// The error of a fix is its distance to the point that a reader finds for its time on the straight line (in degrees)
/// between the kept fixes around it. A shortest path over all admissible steps from fix to fix has the fewest points
/// (H. Imai, M. Iri, "Computational-geometric methods for polygonal approximations of a curve", 1986); here it is
/// found while the track grows. Points are committed as soon as every shortest path that can still go on agrees on them,
/// and so the result is the optimum, unless `window` fixes pass without agreement: then the path to the newest fix
/// is taken. Memory and time per fix are bounded by the window.
///
/// The first and the last fix are always kept.
public struct TrackThinner: Sendable {
  /// Metres.
  public let epsilon: Double
  /// The most fixes that are held back.
  public let window: Int

  /// The newest point committed, and what came after it.
  private var nodes: [Node] = []

  private struct Node: Sendable {
    var location: Location
    /// Index in `nodes` of the point before this on the shortest path; -1 for the first.
    var parent: Int
    /// Points on that path.
    var cost: Int
    /// Velocities (degrees per second) that pass close enough to all fixes since; a rectangle around the true region.
    var fastest = SIMD2(Double.infinity, .infinity)
    var slowest = SIMD2(-Double.infinity, -.infinity)
    /// Degrees per metre east and north here.
    var degrees: SIMD2<Double>

    /// Whether a path may still go on from here.
    var isOpen: Bool { slowest.x <= fastest.x && slowest.y <= fastest.y }
  }

  /// - Parameters:
  ///   - epsilon: metres; 0 keeps all but what lies exactly on a line.
  ///   - window: the most fixes held back, at least 3. Parked, a large one costs its square per fix: 512 about 0.2 ms.
  public init(epsilon: Double, window: Int = 512) {
    self.epsilon = epsilon > 0 ? epsilon : 0
    self.window = max(3, window)
  }

  /// Takes a fix; returns the points that are now certain, in order. Fixes without a valid position, and those that
  /// are not after the last one, are passed over.
  public mutating func process(_ location: Location) -> [Location] {
    guard location.coordinate.isValid, nodes.last.map({ $0.location.timestamp < location.timestamp }) ?? true
    else { return [] }
    let unit = Self.metresPerDegree(at: location.coordinate)
    var node = Node(location: location, parent: -1, cost: 0, degrees: 1 / unit)
    guard !nodes.isEmpty else {
      nodes = [node]
      return [location]
    }
    node.cost = .max
    for index in nodes.indices where nodes[index].isOpen && nodes[index].cost < node.cost - 1 {
      if reaches(location, from: index) { (node.parent, node.cost) = (index, nodes[index].cost + 1) }
    }
    for index in nodes.indices where nodes[index].isOpen { narrow(index, by: node) }
    nodes.append(node)
    let agreed = commonAncestor()
    if agreed > 0 { return commit(through: agreed) }
    return nodes.count > window ? commitFirst() : []
  }

  /// The end of the track: returns the points that were still open, with the last fix. The next fix starts a new track.
  public mutating func finish() -> [Location] {
    guard nodes.count > 1 else {
      nodes = []
      return []
    }
    let points = commit(through: nodes.count - 1)
    nodes = []
    return points
  }

  /// The position at a time between two points, as every reader of a thinned track finds it.
  public static func interpolate(_ time: Timestamp, from a: Location, to b: Location) -> Coordinate {
    let span = b.timestamp.seconds(since: a.timestamp)
    guard span > 0 else { return a.coordinate }
    let way = degrees(from: a.coordinate, to: b.coordinate) * (time.seconds(since: a.timestamp) / span)
    return Coordinate(
      latitude: a.coordinate.latitude + way.y,
      longitude: signedDegrees(from: 0, to: a.coordinate.longitude + way.x))
  }

  private func reaches(_ location: Location, from index: Int) -> Bool {
    let start = nodes[index].location
    let span = location.timestamp.seconds(since: start.timestamp)
    let velocity = Self.degrees(from: start.coordinate, to: location.coordinate) / span
    let node = nodes[index]
    guard all(velocity .<= node.fastest), all(velocity .>= node.slowest) else { return false }
    let limit = epsilon * epsilon
    for between in nodes[(index + 1)...] {
      let passed = velocity * between.location.timestamp.seconds(since: start.timestamp)
      let error =
        (passed - Self.degrees(from: start.coordinate, to: between.location.coordinate)) / between.degrees
      if error.squaredLength > limit { return false }
    }
    return true
  }

  private mutating func narrow(_ index: Int, by fix: Node) {
    let start = nodes[index].location
    let span = fix.location.timestamp.seconds(since: start.timestamp)
    let velocity = Self.degrees(from: start.coordinate, to: fix.location.coordinate) / span
    // A hair wider than the bound: the rectangle only sorts out, `reaches` decides.
    let margin = epsilon * 1.000001 / span * fix.degrees
    nodes[index].fastest = pointwiseMin(nodes[index].fastest, velocity + margin)
    nodes[index].slowest = pointwiseMax(nodes[index].slowest, velocity - margin)
  }

  /// The last node that the shortest paths to all open nodes pass.
  private func commonAncestor() -> Int {
    var isOnPath = nodes.map(\.isOpen)
    var open = isOnPath.reduce(0) { $0 + ($1 ? 1 : 0) }
    for index in nodes.indices.reversed() where isOnPath[index] {
      if open == 1 { return index }
      let parent = nodes[index].parent
      if parent < 0 { return index }
      if isOnPath[parent] { open -= 1 } else { isOnPath[parent] = true }
    }
    return 0
  }

  /// Gives up the optimum for the bound: goes the way of the newest fix, and drops the paths that do not.
  private mutating func commitFirst() -> [Location] {
    var first = nodes.count - 1
    while nodes[first].parent > 0 { first = nodes[first].parent }
    var descends = nodes.indices.map { $0 == first }
    for index in nodes.indices.dropFirst(first + 1) {
      descends[index] = nodes[index].parent >= 0 && descends[nodes[index].parent]
      if !descends[index] { close(index) }
    }
    return commit(through: first)
  }

  private mutating func close(_ index: Int) {
    nodes[index].slowest = SIMD2(.infinity, .infinity)
    nodes[index].fastest = SIMD2(-.infinity, -.infinity)
    nodes[index].parent = -1
  }

  private mutating func commit(through last: Int) -> [Location] {
    var points: [Location] = []
    var index = last
    while index > 0 {
      points.append(nodes[index].location)
      index = nodes[index].parent
    }
    nodes.removeFirst(last)
    for index in nodes.indices { nodes[index].parent = max(-1, nodes[index].parent - last) }
    return points.reversed()
  }

  private static func degrees(from a: Coordinate, to b: Coordinate) -> SIMD2<Double> {
    SIMD2(signedDegrees(from: a.longitude, to: b.longitude), b.latitude - a.latitude)
  }

  /// Metres of a degree east and north. The metric of each fix is its own, so a long line is judged rightly.
  private static func metresPerDegree(at coordinate: Coordinate) -> SIMD2<Double> {
    let frame = LocalFrame(origin: coordinate)
    let step = 1e-3
    let east = coordinate.longitude > 0 ? -step : step
    let north = coordinate.latitude > 0 ? -step : step
    let offset = frame.offset(
      of: Coordinate(latitude: coordinate.latitude + north, longitude: coordinate.longitude + east))
    return SIMD2(offset.x / east, offset.y / north)
  }
}
