public import Spatial
public import VehicleData

/// Thins a track to the smallest number of fixes whose interpolation in time stays within `epsilon` metres of
/// every omitted fix.
///
/// The error of a fix is its distance to the point for its time on the straight line (in degrees) between the
/// retained fixes around it. A shortest path over all admissible steps from fix to fix has the smallest
/// number of points (H. Imai, M. Iri, "Computational-geometric methods for polygonal approximations of a
/// curve", 1986). It is computed over the whole batch.
///
/// Admissible steps are found efficiently. For each fix at which a step may start, the velocities within the
/// bound of all later fixes are stored as an octagon around the exact region. When the octagon is empty, the
/// fix is closed. A step within the octagon is then tested against the fixes between, by `TrackBlocks` in
/// blocks.
///
/// If no more than `breadth` fixes are open simultaneously, the result is optimal. If more are open, as for a
/// vehicle parked for more than an hour, every second of the older ones is closed; neighbouring fixes are
/// nearly equivalent there. Time per fix is bounded: two octagons for each open fix and about 33,000
/// distances. Memory is that of the track.
///
/// The first and the last fix are always retained.
public struct TrackThinner: Sendable {
  /// Amount of work as numbers of operations, which do not depend on the machine.
  public struct Work: Hashable, Sendable {
    /// Number of examined octagons.
    public var octagons = 0
    /// Number of computed distances.
    public var distances = 0
    /// Maximum number of simultaneously open fixes.
    public var open = 0
  }

  /// Bound in m.
  public let epsilon: Double
  /// Maximum number of fixes at which a step may start.
  public let breadth: Int
  /// Work for the last track.
  public private(set) var work = Work()

  /// Approximate maximum number of distances computed for one fix. The step from the preceding fix requires
  /// no distance.
  static let mostDistances = 32_768

  /// A fix at which a step may start.
  private struct Start {
    var index: Int
    /// Number of points on the shortest path to the fix.
    var cost: Int
    var reach: VelocityOctagon
  }

  /// - Parameters:
  ///   - epsilon: bound in m; 0 omits only fixes exactly on a line.
  ///   - breadth: maximum number of fixes at which a step may start, at least 4.
  public init(epsilon: Double, breadth: Int = 4096) {
    self.epsilon = epsilon > 0 ? epsilon : 0
    self.breadth = max(4, breadth)
  }

  /// Returns the retained points of a track, in order. Fixes without a valid position, and fixes that are not
  /// later than their predecessor, are ignored.
  public mutating func thinned(_ track: [Location]) -> [Location] {
    work = Work()
    var fixes: [Location] = []
    fixes.reserveCapacity(track.count)
    for fix in track
    where fix.coordinate.isValid && fixes.last.map({ $0.timestamp < fix.timestamp }) ?? true {
      fixes.append(fix)
    }
    guard fixes.count > 2 else { return fixes }
    let parents = shortestPaths(through: fixes)
    var points: [Location] = []
    var index = fixes.count - 1
    while index >= 0 {
      points.append(fixes[index])
      index = parents[index]
    }
    return points.reversed()
  }

  /// Returns for each fix the index of the preceding fix on its shortest path; -1 for the first fix.
  private mutating func shortestPaths(through fixes: [Location]) -> [Int] {
    var blocks = TrackBlocks(epsilon: epsilon, capacity: fixes.count)
    var parents = [-1]
    parents.reserveCapacity(fixes.count)
    blocks.append(fixes[0])
    var starts = [Start(index: 0, cost: 1, reach: VelocityOctagon())]
    for index in 1..<fixes.count {
      blocks.append(fixes[index])
      let step = bestStep(to: index, from: starts, blocks)
      parents.append(step.parent)
      for place in starts.indices {
        let (velocity, margin) = blocks.velocity(from: starts[place].index, to: index)
        starts[place].reach.narrow(to: velocity, within: margin)
      }
      work.octagons += starts.count
      work.distances += blocks.drainDistances()
      starts.removeAll { $0.reach.isEmpty }
      starts.append(Start(index: index, cost: step.cost, reach: VelocityOctagon()))
      work.open = max(work.open, starts.count)
      if starts.count >= breadth { halveOlder(&starts) }
    }
    return parents
  }

  /// Returns the step to a fix with the fewest points; of several such steps the shortest.
  private mutating func bestStep(to index: Int, from starts: [Start], _ blocks: TrackBlocks) -> (
    parent: Int, cost: Int
  ) {
    var candidates: [(place: Int, cost: Int)] = []
    var direct = (parent: index - 1, cost: Int.max)
    for place in starts.indices {
      let start = starts[place]
      if start.index == index - 1 { direct.cost = start.cost + 1 }
      let velocity = blocks.velocity(from: start.index, to: index).velocity
      if start.reach.contains(velocity) { candidates.append((place, start.cost)) }
    }
    work.octagons += starts.count
    // The preceding fix is always a possible start, and the step from it needs no test.
    candidates.removeAll { $0.cost + 1 >= direct.cost }
    candidates.sort { $0.cost == $1.cost ? $0.place > $1.place : $0.cost < $1.cost }
    var limit = Self.mostDistances
    for candidate in candidates where limit > 0 {
      let start = starts[candidate.place]
      let trial = blocks.isWithin(from: start.index, to: index, limit: limit)
      work.distances += trial.distances
      limit -= trial.distances
      if trial.holds { return (start.index, start.cost + 1) }
    }
    return direct
  }

  /// Closes every second fix of the older half within each run of equal costs.
  private func halveOlder(_ starts: inout [Start]) {
    let half = starts.count / 2
    var kept: [Start] = []
    kept.reserveCapacity(starts.count)
    var isSecond = false
    for place in starts.indices {
      let isInRun = place > 0 && starts[place - 1].cost == starts[place].cost
      isSecond = isInRun ? !isSecond : false
      if place >= half || !isSecond { kept.append(starts[place]) }
    }
    // If the cost changes with every fix, the rule above closes nothing, so the oldest quarter is closed.
    if kept.count > breadth - breadth / 8 { kept.removeFirst(breadth / 4) }
    starts = kept
  }

  /// Returns the position at a time between two points, as every program that reads a thinned track
  /// calculates it.
  public static func interpolate(_ time: Timestamp, from a: Location, to b: Location) -> Coordinate {
    let span = b.timestamp.seconds(since: a.timestamp)
    guard span > 0 else { return a.coordinate }
    let way =
      TrackBlocks.degrees(from: a.coordinate, to: b.coordinate) * (time.seconds(since: a.timestamp) / span)
    return Coordinate(
      latitude: a.coordinate.latitude + way.y,
      longitude: signedDegrees(from: 0, to: a.coordinate.longitude + way.x))
  }
}
