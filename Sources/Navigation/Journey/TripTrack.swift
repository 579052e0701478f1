public import Spatial

/// The course of a trip in bounded memory: the interpolation in time between its points passes every place that was left out
/// within `bound` metres.
///
/// Of the newest point the velocities are kept with which all places since are met within the bound: an interval in each direction,
/// so that the square around each place lies in the circle of the bound. When it does not hold the velocity to the newest place, the
/// place before becomes a point (E. H. Bristol, "Swinging door trending", 1990, in two dimensions). Where the points are as many
/// as there may be, they are thinned by the bound again, which doubles it.
public struct TripTrack: Hashable, Sendable {
  public struct Point: Hashable, Sendable {
    /// s since the start of the trip.
    public var elapsed: Double
    public var coordinate: Coordinate

    public init(elapsed: Double, coordinate: Coordinate) {
      self.elapsed = elapsed
      self.coordinate = coordinate
    }
  }

  /// Metres.
  public private(set) var bound: Double
  private var kept: [Point] = []
  /// The newest place, which is no point yet.
  private var newest: Point?
  /// m/s east and north that meet all places since the last point.
  private var (lower, upper) = (Self.anything.0, Self.anything.1)

  /// Metres at the beginning: a lane or two, and some three times a receiver's error.
  public static let firstBound = 10.0
  /// Points at most: 3 kB of a message. On drives of city and motorway 10 m take some 100 an hour.
  public static let capacity = 256

  private static let anything = (
    SIMD2(-Double.infinity, -Double.infinity), SIMD2(Double.infinity, Double.infinity)
  )

  public init() { bound = Self.firstBound }

  /// Goes on from what was kept. Points that are not in order of time or not on the earth are left out.
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

  /// Takes out points. Of the way between those that stay nothing is stated any more where one was between them.
  mutating func forgetPlaces(where isHidden: (Coordinate) -> Bool) {
    guard points.contains(where: { isHidden($0.coordinate) }) else { return }
    self = TripTrack(points: points.filter { !isHidden($0.coordinate) }, bound: bound)
  }

  /// Takes the next place; one that is not after the one before is passed over.
  public mutating func append(_ point: Point) {
    guard point.coordinate.isValid, point.elapsed.isFinite else { return }
    // To the digits that are kept, so that what is told again after a restart is the same.
    let point = Point(
      elapsed: (point.elapsed * TripWords.seconds).rounded() / TripWords.seconds,
      coordinate: Coordinate(
        latitude: (point.coordinate.latitude * TripWords.degrees).rounded() / TripWords.degrees,
        longitude: (point.coordinate.longitude * TripWords.degrees).rounded() / TripWords.degrees))
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

  /// Whether the places since are met on the way to this one, which is met from now on, too.
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

  /// Those left out were within the bound of a line that is itself within the bound of the new one.
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
