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
  /// Metres: no fix is farther than this from the prediction for its moment, while the report is valid.
  public var bound: Double
  /// Seconds: the promise is for the moment this long ago; 0 is for now.
  public var delay: Double
  /// Seconds after its moment for which the bound is promised without another report; nil, as older vehicles have it: until
  /// there is one.
  public var validity: Double?
  /// Metres per second by which the bound grows after that.
  public var growth = 0.0

  public init(
    moment: Timestamp, coordinate: Coordinate, velocity: SIMD2<Double>, bound: Double, delay: Double,
    validity: Double? = nil, growth: Double = 0
  ) {
    self.moment = moment
    self.coordinate = coordinate
    self.velocity = velocity
    self.bound = bound
    self.delay = delay
    self.validity = validity
    self.growth = growth
  }

  /// Whether the bound is promised for a moment.
  public func isPromised(at time: Timestamp) -> Bool {
    validity.map { time.seconds(since: moment) <= $0 } ?? true
  }

  /// Metres within which the vehicle is at a moment: the bound as long as it is promised, and then what a vehicle can add to
  /// it unseen.
  public func bound(at time: Timestamp) -> Double {
    guard let validity else { return bound }
    return bound + growth * max(0, time.seconds(since: moment) - validity)
  }

  /// Where the vehicle is taken to be at a moment; before the report takes effect the line is drawn backwards.
  public func coordinate(at time: Timestamp) -> Coordinate {
    LocalFrame(origin: coordinate).coordinate(at: velocity * time.seconds(since: moment))
  }

  /// Metres between a position at a moment and the prediction for it.
  public func error(of position: Coordinate, at time: Timestamp) -> Double {
    coordinate(at: time).distance(to: position)
  }

  /// The report as the wire can carry it: 8 decimals of a degree, millimetres per second, milliseconds of validity.
  var rounded: ReportPredictor {
    var copy = self
    copy.coordinate.latitude = (coordinate.latitude * 1e8).rounded() / 1e8
    copy.coordinate.longitude = (coordinate.longitude * 1e8).rounded() / 1e8
    copy.velocity = (velocity * 1000).rounded(.toNearestOrAwayFromZero) / 1000
    copy.validity = validity.map { ($0 * 1000).rounded(.down) / 1000 }
    copy.growth = (growth * 1000).rounded(.up) / 1000
    return copy
  }

  /// Metres that the wire may add: its time has milliseconds, its coordinates a millimetre.
  var wireError: Double { 0.001 * (velocity * velocity).sum().squareRoot() + 0.001 }
}
