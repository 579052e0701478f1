public import Spatial

/// The track of a trip in bounded memory. Linear interpolation in time between its points passes every
/// omitted position within `bound` metres.
///
/// For the last point, an interval of velocities in each direction is stored. With these velocities, a line
/// from the last point passes all later positions within the bound. The square around each position lies
/// inside the circle of the bound. If no velocity in the interval passes the new position within the bound,
/// the previous position becomes a point (E. H. Bristol, "Swinging door trending", 1990, in two dimensions).
/// When the maximum number of points is reached, they are thinned with the doubled bound.
public struct TripTrack: Hashable, Sendable {
  public struct Point: Hashable, Sendable {
    /// The time since the start of the trip, s.
    public var elapsed: Double
    public var coordinate: Coordinate

    public init(elapsed: Double, coordinate: Coordinate) {
      self.elapsed = elapsed
      self.coordinate = coordinate
    }
  }

  /// The maximum distance in m between the track and an omitted position.
  public private(set) var bound: Double
  private var kept: [Point] = []
  /// The newest position, which is not a point of the track yet; nil if there is none.
  private var newest: Point?
  /// The interval of velocities in m/s, east and north, with which a line from the last point passes all
  /// later positions within the bound.
  private var (lower, upper) = (Self.anything.0, Self.anything.1)

  /// The initial bound in m. It corresponds to one or two lanes of a road, and to about three times a
  /// receiver's error.
  public static let firstBound = 10.0
  /// The maximum number of points, which require 3 kB in a message. With a bound of 10 m, drives in cities
  /// and on motorways need about 100 points an hour.
  public static let capacity = 256

  private static let anything = (
    SIMD2(-Double.infinity, -Double.infinity), SIMD2(Double.infinity, Double.infinity)
  )

  public init() { bound = Self.firstBound }

  /// Restores stored points. Points out of order or with invalid coordinates are omitted.
  public init(points: [Point], bound: Double) {
    self.bound = bound.isFinite ? max(Self.firstBound, bound) : Self.firstBound
    for point in points.prefix(Self.capacity)
    where point.coordinate.isValid && point.elapsed.isFinite
      && kept.last.map({ $0.elapsed < point.elapsed }) ?? true
    {
      kept.append(point)
    }
  }

  public var points: [Point] { newest.map { kept + [$0] } ?? kept }

  public var isEmpty: Bool { kept.isEmpty }

  /// Removes hidden points. The track then states nothing about the path between the neighbours of a removed
  /// point.
  mutating func forgetPlaces(where isHidden: (Coordinate) -> Bool) {
    guard points.contains(where: { isHidden($0.coordinate) }) else { return }
    self = TripTrack(points: points.filter { !isHidden($0.coordinate) }, bound: bound)
  }

  /// Appends a position. Ignores a position that is not later than the previous one.
  public mutating func append(_ point: Point) {
    guard point.coordinate.isValid, point.elapsed.isFinite else { return }
    // The point is rounded to the digits that are stored, so that a record published again after a restart is
    // identical.
    let point = Point(
      elapsed: (point.elapsed * TripFields.seconds).rounded() / TripFields.seconds,
      coordinate: Coordinate(
        latitude: (point.coordinate.latitude * TripFields.degrees).rounded() / TripFields.degrees,
        longitude: (point.coordinate.longitude * TripFields.degrees).rounded() / TripFields.degrees))
    add(point)
    if kept.count >= Self.capacity - 1 { thin() }
  }

  private mutating func add(_ point: Point) {
    guard let last = kept.last else { return kept.append(point) }
    guard point.elapsed > (newest ?? last).elapsed else { return }
    if !narrow(from: last, to: point), let before = newest {
      kept.append(before)
      (lower, upper) = Self.anything
      _ = narrow(from: before, to: point)
    }
    newest = point
  }

  /// Returns whether a line to this point passes all positions since the last point within the bound, and
  /// narrows the interval to the point.
  private mutating func narrow(from start: Point, to point: Point) -> Bool {
    let seconds = point.elapsed - start.elapsed
    let velocity = LocalFrame(origin: start.coordinate).offset(of: point.coordinate) / seconds
    let isMet =
      velocity.x >= lower.x && velocity.y >= lower.y && velocity.x <= upper.x && velocity.y <= upper.y
    let margin = bound / 2.0.squareRoot() / seconds
    lower.replace(with: velocity - margin, where: velocity - margin .> lower)
    upper.replace(with: velocity + margin, where: velocity + margin .< upper)
    return isMet
  }

  /// Removes points and doubles the bound. Omitted positions were within the old bound of a line that is
  /// itself within the old bound of the new line.
  private mutating func thin() {
    while kept.count > Self.capacity * 3 / 4 {
      var next = TripTrack()
      next.bound = bound
      for point in points { next.add(point) }
      (kept, newest, lower, upper) = (next.kept, next.newest, Self.anything.0, Self.anything.1)
      if let newest {
        kept.append(newest)
        self.newest = nil
      }
      bound *= 2
    }
  }
}
