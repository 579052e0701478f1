internal import Glibc
internal import Sensors
internal import Spatial

/// A velocity from the differences of positions, for the start with a receiver that reports no velocity.
///
/// The mean velocity over a time T has the errors of both positions divided by T. It differs from the
/// velocity at the end by the acceleration times T / 2. The velocity is computed with the earlier position
/// for which the sum of both errors is smallest.
struct PositionDifferences: Sendable {
  /// A velocity east and north in m/s, with its standard deviation by axis.
  struct Velocity: Hashable, Sendable {
    var value: Vector3
    var deviation: Double
  }

  /// A mean velocity east and north in m/s.
  struct Course: Hashable, Sendable {
    var value: Vector3
    /// The time over which it is the mean, s.
    var span: Double
  }

  private struct Fix: Sendable {
    var time: Double
    var coordinate: Coordinate
    var deviation: Double
  }

  /// Earlier positions, at least a second apart, oldest first.
  private var fixes: [Fix] = []

  /// The range of T in s. Over a shorter time the receiver's noise dominates, and over a longer one the road
  /// may bend.
  private static let span = 2.0...5.0
  /// The speed in m/s above which a difference is wrong.
  private static let fastest = 100.0
  /// The standard deviation of a vehicle's acceleration by axis in m/s².
  private static let acceleration = 0.8
  private static let capacity = 6

  mutating func reserve() { fixes.reserveCapacity(Self.capacity + 1) }

  mutating func reset() { fixes.removeAll(keepingCapacity: true) }

  /// Returns the mean velocity since the newest earlier position; nil without one.
  func course(to coordinate: Coordinate, at time: Double) -> Course? {
    guard let fix = fixes.last, case let span = time - fix.time, span >= 1 - 1e-3, span <= 3 else {
      return nil
    }
    let offset = LocalFrame(origin: coordinate).offset(of: fix.coordinate)
    let value = Vector3(-offset.x, -offset.y, 0) / span
    return value.length <= Self.fastest ? Course(value: value, span: span) : nil
  }

  /// Adds a position at a time (s) with its standard deviation by axis in m.
  /// - Returns: the velocity at this time; nil without an earlier position.
  mutating func add(_ coordinate: Coordinate, at time: Double, deviation: Double) -> Velocity? {
    if let last = fixes.last, time - last.time > Self.span.upperBound { reset() }
    let frame = LocalFrame(origin: coordinate)
    var best: Velocity?
    for fix in fixes where Self.span.contains(time - fix.time) {
      let span = time - fix.time
      let offset = frame.offset(of: fix.coordinate)
      let value = Vector3(-offset.x, -offset.y, 0) / span
      let own = hypot(hypot(deviation, fix.deviation) / span, Self.acceleration * span / 2)
      if own < best?.deviation ?? .infinity, value.length <= Self.fastest {
        best = Velocity(value: value, deviation: own)
      }
    }
    if fixes.last.map({ time - $0.time >= 1 - 1e-3 }) ?? true {
      if fixes.count == Self.capacity { fixes.removeFirst() }
      fixes.append(Fix(time: time, coordinate: coordinate, deviation: deviation))
    }
    return best
  }
}
