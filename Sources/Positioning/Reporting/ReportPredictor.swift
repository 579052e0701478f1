internal import Glibc
public import Spatial

/// The rule that a reporting vehicle and its subscribers share: from its moment on, until the next report takes
/// effect, the vehicle is taken to move along a straight line at constant speed.
///
/// Both sides compute in the `LocalFrame` of the reported position, so both arrive at the same coordinate.
public struct ReportPredictor: Hashable, Sendable {
  /// When the report takes effect. The wire carries milliseconds.
  public var moment: Timestamp
  /// Where the vehicle is taken to be at that moment; within `bound` of where it was.
  public var coordinate: Coordinate
  /// Metres per second east and north.
  public var velocity: SIMD2<Double>
  /// Metres: no fix is farther than this from the prediction for its moment.
  public var bound: Double
  /// Seconds: the promise is for the moment this long ago; 0 is for now.
  public var delay: Double

  public init(
    moment: Timestamp, coordinate: Coordinate, velocity: SIMD2<Double>, bound: Double, delay: Double
  ) {
    self.moment = moment
    self.coordinate = coordinate
    self.velocity = velocity
    self.bound = bound
    self.delay = delay
  }

  /// Where the vehicle is taken to be at a moment; before the report takes effect the line is drawn backwards.
  public func coordinate(at time: Timestamp) -> Coordinate {
    LocalFrame(origin: coordinate).coordinate(at: velocity * time.seconds(since: moment))
  }

  /// Metres between a position at a moment and the prediction for it.
  public func error(of position: Coordinate, at time: Timestamp) -> Double {
    coordinate(at: time).distance(to: position)
  }

  /// The report as the wire can carry it: 8 decimals of a degree, millimetres per second.
  var rounded: ReportPredictor {
    var copy = self
    copy.coordinate.latitude = (coordinate.latitude * 1e8).rounded() / 1e8
    copy.coordinate.longitude = (coordinate.longitude * 1e8).rounded() / 1e8
    copy.velocity = (velocity * 1000).rounded(.toNearestOrAwayFromZero) / 1000
    return copy
  }

  /// Metres that the wire may add: its time has milliseconds, its coordinates a millimetre.
  var wireError: Double { 0.001 * (velocity * velocity).sum().squareRoot() + 0.001 }
}

/// A fix as the reporting policy sees it: where, when and with what velocity.
struct MotionSample: Sendable {
  /// A receiver's silence longer than this makes the way between two fixes worthless as a velocity.
  private static let longestStep = 5.0

  /// Metres per second.
  private static let slowest = 2.0

  var timestamp: Timestamp
  var coordinate: Coordinate
  /// Metres per second east and north: the receiver's, which the Doppler shift gives, or the way from the last fix.
  var velocity: SIMD2<Double>

  init(_ location: Location, after previous: MotionSample?) {
    timestamp = location.timestamp
    coordinate = location.coordinate
    if let speed = location.speed, let course = location.course {
      velocity = speed * SIMD2(sin(course.radians), cos(course.radians))
    } else if let previous, case let step = timestamp.seconds(since: previous.timestamp),
      step > 0, step <= Self.longestStep
    {
      velocity = LocalFrame(origin: previous.coordinate).offset(of: coordinate) / step
    } else {
      velocity = .zero
    }
  }

  /// Change of speed (m/s²) and of course (rad/s, counterclockwise) since an earlier sample; zero where unknown.
  func trend(since previous: MotionSample?) -> (acceleration: Double, turnRate: Double) {
    guard let previous, case let step = timestamp.seconds(since: previous.timestamp), step > 0,
      step <= Self.longestStep
    else { return (0, 0) }
    let squaredSpeed = (velocity * velocity).sum()
    // Slower than a walk, noise is all there is to see of acceleration and turn.
    guard squaredSpeed > Self.slowest * Self.slowest else { return (0, 0) }
    let change = (velocity - previous.velocity) / step
    return (
      (change * velocity).sum() / squaredSpeed.squareRoot(),
      (velocity.x * change.y - velocity.y * change.x) / squaredSpeed
    )
  }
}

/// A subscriber's side of bounded reporting: keeps the reports that it may still need and says where the vehicle is.
///
/// Reports come before they take effect, by up to their delay; what is shown is always the moment `delay` seconds
/// ago, predicted from the newest report in effect then.
public struct ReportFollower: Sendable {
  /// Reports in the order of their moments; the first is in effect, the others wait.
  private var reports: [ReportPredictor] = []

  public init() {}

  /// Takes a report. A repeated one replaces its twin; one that comes late finds its place by its moment.
  public mutating func receive(_ report: ReportPredictor) {
    let place = reports.firstIndex { $0.moment >= report.moment } ?? reports.endIndex
    if place < reports.endIndex, reports[place].moment == report.moment {
      reports[place] = report
    } else {
      reports.insert(report, at: place)
    }
  }

  /// The report in effect for a moment; nil before the first.
  public func report(for moment: Timestamp) -> ReportPredictor? {
    reports.last { $0.moment <= moment }
  }

  /// What to show at a time: the position at the moment `delay` seconds before it, and the radius in metres that
  /// the fix of that moment is within. Nil before the first report takes effect.
  public func position(now: Timestamp) -> (moment: Timestamp, coordinate: Coordinate, bound: Double)? {
    guard let delay = reports.last?.delay else { return nil }
    let moment = now.advanced(bySeconds: -delay)
    guard let report = report(for: moment) else { return nil }
    return (moment, report.coordinate(at: moment), report.bound)
  }

  /// Forgets the reports that no moment from here on needs.
  public mutating func forget(before moment: Timestamp) {
    guard let inEffect = reports.lastIndex(where: { $0.moment <= moment }) else { return }
    reports.removeFirst(inEffect)
  }
}
