internal import Spatial

/// A track that says quickly whether a straight line in time passes all fixes between two of them.
///
/// Blocks of 8, 64, 512, … fixes know how far their fixes lie from the line between their own first and last. A line that
/// comes so near to both ends of a block that this much is left passes the whole block; only otherwise its parts are looked
/// at. So a stop or a straight road of any length costs few distances.
struct TrackBlocks: Sendable {
  private struct Fix {
    /// Seconds since the first.
    var time: Double
    /// Degrees east and north of the first; it may pass a whole turn.
    var position: SIMD2<Double>
    /// Metres of a degree east and north.
    var metres: SIMD2<Double>
  }

  private struct Block {
    /// Metres that a fix of it is off the line between its ends, at most.
    var bulge: Double
    /// The most metres of a degree in it.
    var metres: SIMD2<Double>
  }

  private static let fan = 8

  /// Metres.
  private let epsilon: Double
  private var fixes: [Fix] = []
  private var origin: (time: Timestamp, coordinate: Coordinate)?
  private var lastCoordinate: Coordinate?
  /// By level, each of eight times as many fixes.
  private var levels: [[Block]] = []
  private var distances = 0

  init(epsilon: Double, capacity: Int) {
    self.epsilon = epsilon
    fixes.reserveCapacity(capacity)
  }

  /// Distances computed for the blocks since this was last asked.
  mutating func drainDistances() -> Int {
    defer { distances = 0 }
    return distances
  }

  mutating func append(_ location: Location) {
    let start = origin ?? (location.timestamp, location.coordinate)
    origin = start
    let before = fixes.last?.position ?? .zero
    let way = Self.degrees(from: lastCoordinate ?? start.coordinate, to: location.coordinate)
    lastCoordinate = location.coordinate
    fixes.append(
      Fix(
        time: location.timestamp.seconds(since: start.time), position: before + way,
        metres: Self.metresPerDegree(at: location.coordinate)))
    var size = Self.fan
    var level = 0
    while fixes.count % size == 0 {
      if level == levels.count { levels.append([]) }
      levels[level].append(block(of: (fixes.count - size)..<fixes.count))
      size *= Self.fan
      level += 1
    }
  }

  /// The velocity of the line from one fix to another, and what the bound allows around it, in degrees per second.
  func velocity(from start: Int, to end: Int) -> (velocity: SIMD2<Double>, margin: SIMD2<Double>) {
    let (a, b) = (fixes[start], fixes[end])
    let span = b.time - a.time
    return ((b.position - a.position) / span, epsilon / (span * b.metres))
  }

  /// Whether the line between two fixes passes all between them within the bound.
  /// - Parameter limit: distances after which it is given up.
  func isWithin(from start: Int, to end: Int, limit: Int) -> (holds: Bool, distances: Int) {
    let velocity = velocity(from: start, to: end).velocity
    var count = 0
    var index = start + 1
    while index < end {
      guard count < limit, let next = passed(at: index, before: end, start, velocity, &count) else {
        return (false, count)
      }
      index = next
    }
    return (true, count)
  }

  /// The first fix after the largest block at a fix that the line passes; nil when it misses the fix itself.
  private func passed(
    at index: Int, before end: Int, _ start: Int, _ velocity: SIMD2<Double>, _ count: inout Int
  ) -> Int? {
    count += 1
    guard error(of: index, start, velocity, fixes[index].metres) <= epsilon else { return nil }
    var next = index + 1
    var size = Self.fan
    for level in levels where index % size == 0 && index + size <= end && index / size < level.count {
      let block = level[index / size]
      count += 2
      let ends = max(
        error(of: index, start, velocity, block.metres),
        error(of: index + size - 1, start, velocity, block.metres))
      // A hair is left for rounding.
      guard ends + block.bulge <= epsilon * 0.999999 else { break }
      next = index + size
      size *= Self.fan
    }
    return next
  }

  private func error(
    of index: Int, _ start: Int, _ velocity: SIMD2<Double>, _ metres: SIMD2<Double>
  ) -> Double {
    let (a, b) = (fixes[start], fixes[index])
    let miss = (velocity * (b.time - a.time) - (b.position - a.position)) * metres
    return miss.squaredLength.squareRoot()
  }

  private mutating func block(of range: Range<Int>) -> Block {
    let last = range.upperBound - 1
    let velocity = velocity(from: range.lowerBound, to: last).velocity
    var block = Block(bulge: 0, metres: .zero)
    for index in range {
      block.bulge = max(block.bulge, error(of: index, range.lowerBound, velocity, fixes[index].metres))
      block.metres = pointwiseMax(block.metres, fixes[index].metres)
    }
    distances += range.count
    return block
  }

  static func degrees(from a: Coordinate, to b: Coordinate) -> SIMD2<Double> {
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

/// Velocities that pass near enough to all fixes since one: an octagon around the true region, which is an intersection of
/// discs.
struct VelocityOctagon: Sendable {
  // Along the axes, and along the diagonals in units of the discs' radii.
  private var highest = SIMD4(repeating: Double.infinity)
  private var lowest = SIMD4(repeating: -Double.infinity)

  /// Metres of a degree, as the first fix has it: the diagonals are drawn in metres.
  private var shape = SIMD2(0.0, 0)

  var isEmpty: Bool { any(lowest .> highest) }

  /// A hair wider than the bound: the octagon only sorts out.
  private static let hair = 1.0001

  mutating func narrow(to velocity: SIMD2<Double>, within margin: SIMD2<Double>) {
    // The shape of a disc in degrees changes with the latitude; the diagonals take the first's, and a little more room.
    if shape.x == 0 { shape = 1 / margin / (1 / margin).max() }
    let middle = coordinates(velocity)
    let radii = margin * shape
    let diagonal = radii.max() * 1.4142135623730951
    let room = SIMD4(margin.x, margin.y, diagonal, diagonal) * Self.hair
    highest = pointwiseMin(highest, middle + room)
    lowest = pointwiseMax(lowest, middle - room)
  }

  func contains(_ velocity: SIMD2<Double>) -> Bool {
    // Nothing was left out yet: any line goes.
    guard shape.x != 0 else { return true }
    let point = coordinates(velocity)
    return all(point .<= highest) && all(point .>= lowest)
  }

  private func coordinates(_ velocity: SIMD2<Double>) -> SIMD4<Double> {
    let round = velocity * shape
    return SIMD4(velocity.x, velocity.y, round.x + round.y, round.x - round.y)
  }
}
