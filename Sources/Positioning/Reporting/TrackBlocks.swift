internal import Spatial
internal import VehicleData

/// A track with an index that quickly decides whether a straight line in time is close to all fixes between
/// two of them.
///
/// Blocks of 8, 64, 512, … fixes store the maximum distance of their fixes from the line between their own
/// first and last. A line that is close enough to both ends of a block is close to the whole block; otherwise
/// its parts are examined. A stop or a straight road of any length therefore requires few distances.
struct TrackBlocks: Sendable {
  private struct Fix {
    /// Time in s since the first fix.
    var time: Double
    /// Degrees east and north of the first fix; may exceed a full circle.
    var position: SIMD2<Double>
    /// Metres per degree, east and north.
    var metres: SIMD2<Double>
  }

  private struct Block {
    /// Maximum distance in m of the block's fixes from the line between its first and last fix.
    var bulge: Double
    /// Maximum metres per degree within the block.
    var metres: SIMD2<Double>
  }

  private static let fan = 8

  /// Bound in m.
  private let epsilon: Double
  private var fixes: [Fix] = []
  private var origin: (time: Timestamp, coordinate: Coordinate)?
  private var lastCoordinate: Coordinate?
  /// Blocks by level. A block contains eight times as many fixes as a block of the level below.
  private var levels: [[Block]] = []
  private var distances = 0

  init(epsilon: Double, capacity: Int) {
    self.epsilon = epsilon
    fixes.reserveCapacity(capacity)
  }

  /// Returns the number of distances computed for blocks since the last call.
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

  /// Returns the velocity of the line from one fix to another, and the margin around it that the bound
  /// allows, in degrees per second.
  func velocity(from start: Int, to end: Int) -> (velocity: SIMD2<Double>, margin: SIMD2<Double>) {
    let (a, b) = (fixes[start], fixes[end])
    let span = b.time - a.time
    return ((b.position - a.position) / span, epsilon / (span * b.metres))
  }

  /// Returns whether the line between two fixes is within the bound of all fixes between them.
  /// - Parameter limit: maximum number of distances to compute.
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

  /// Returns the first fix after the largest block that starts at a fix and is within the bound; nil if the
  /// fix itself is not.
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
      // The bound is reduced by a small margin for rounding.
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

  /// Returns the metres per degree at a position, east and north. They are computed for each fix, so that
  /// long lines are evaluated correctly.
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

/// Velocities with which a line from one fix stays within the bound of all later fixes. The exact region is
/// an intersection of discs; it is approximated by an octagon around it.
struct VelocityOctagon: Sendable {
  // Limits of the velocity along the axes, and along the diagonals in units of the discs' radii.
  private var highest = SIMD4(repeating: Double.infinity)
  private var lowest = SIMD4(repeating: -Double.infinity)

  /// Metres per degree at the first fix, because the diagonals are constructed in metres.
  private var shape = SIMD2(0.0, 0)

  var isEmpty: Bool { any(lowest .> highest) }

  /// Factor by which the octagon is wider than the bound. It is only a first filter, so it must not exclude
  /// valid velocities.
  private static let hair = 1.0001

  mutating func narrow(to velocity: SIMD2<Double>, within margin: SIMD2<Double>) {
    // The shape of a disc in degrees changes with the latitude. The diagonals use the shape of the first
    // disc, with a margin.
    if shape.x == 0 { shape = 1 / margin / (1 / margin).max() }
    let middle = coordinates(velocity)
    let radii = margin * shape
    let diagonal = radii.max() * 1.4142135623730951
    let room = SIMD4(margin.x, margin.y, diagonal, diagonal) * Self.hair
    highest = pointwiseMin(highest, middle + room)
    lowest = pointwiseMax(lowest, middle - room)
  }

  func contains(_ velocity: SIMD2<Double>) -> Bool {
    // Before the first omitted fix every line is valid.
    guard shape.x != 0 else { return true }
    let point = coordinates(velocity)
    return all(point .<= highest) && all(point .>= lowest)
  }

  private func coordinates(_ velocity: SIMD2<Double>) -> SIMD4<Double> {
    let round = velocity * shape
    return SIMD4(velocity.x, velocity.y, round.x + round.y, round.x - round.y)
  }
}
