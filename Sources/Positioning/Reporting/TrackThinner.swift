public import Spatial

/// Thins a track to the fewest fixes whose interpolation in time stays within `epsilon` metres of every fix left out.
///
/// The error of a fix is its distance to the point that a reader finds for its time on the straight line (in degrees)
/// between the kept fixes around it. A shortest path over all admissible steps from fix to fix has the fewest points
/// (H. Imai, M. Iri, "Computational-geometric methods for polygonal approximations of a curve", 1986). It is found over the
/// whole track: a batch has all its fixes in hand.
///
/// Which steps are admissible is asked cheaply. Of each fix that a step may still begin at, the velocities are kept that pass
/// near enough to all fixes since, as an octagon around the true region; when that is empty, the fix is closed. A step within
/// the octagon is then tried against the fixes between, by `TrackBlocks` in blocks.
///
/// Where no more than `breadth` fixes are open at once, the result is the optimum. Where more are, as of a vehicle that is
/// parked for more than an hour, every second of the older ones is closed: they stand next to others of which the same
/// holds. Time per fix is bounded: two octagons for each open fix and some 33,000 distances. Memory is that of the track.
///
/// The first and the last fix are always kept.
public struct TrackThinner: Sendable {
  /// What it took, in place of a clock.
  public struct Work: Hashable, Sendable {
    /// Octagons that were looked at.
    public var octagons = 0
    /// Distances that were computed.
    public var distances = 0
    /// Fixes that were open at once, at most.
    public var open = 0
  }

  /// Metres.
  public let epsilon: Double
  /// The most fixes that a step may begin at.
  public let breadth: Int
  /// Of the last track.
  public private(set) var work = Work()

  /// Distances that are computed for one fix, about at most; the step from the fix before it needs none.
  static let mostDistances = 32_768

  /// A fix that a step may begin at.
  private struct Start {
    var index: Int
    /// Points on the shortest path to it.
    var cost: Int
    var reach: VelocityOctagon
  }

  /// - Parameters:
  ///   - epsilon: metres; 0 keeps all but what lies exactly on a line.
  ///   - breadth: the most fixes that a step may begin at, at least 4.
  public init(epsilon: Double, breadth: Int = 4096) {
    self.epsilon = epsilon > 0 ? epsilon : 0
    self.breadth = max(4, breadth)
  }

  /// The points to keep of a track, in order. Fixes without a valid position, and those that are not after the one before,
  /// are passed over.
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

  /// For each fix, the one before it on its shortest path; -1 for the first.
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

  /// The cheapest step to a fix; of equal ones the shortest.
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
    // The fix before is always open; its own step needs no trial.
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

  /// Closes every second of the older half, but not the newest nor the last of its cost.
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
    // Costs that change from fix to fix leave nothing to close by that rule.
    if kept.count > breadth - breadth / 8 { kept.removeFirst(breadth / 4) }
    starts = kept
  }

  /// The position at a time between two points, as every reader of a thinned track finds it.
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
