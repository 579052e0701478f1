public import Spatial

/// The prediction rule shared by vehicle and subscribers. From the report's time until the next report takes
/// effect, the vehicle is assumed to move along a straight line at constant speed.
///
/// Both sides compute in the `LocalFrame` of the reported position, so both obtain the same coordinate.
public struct ReportPredictor: Hashable, Sendable {
  /// Time at which the report takes effect, in milliseconds on the wire.
  public var moment: Timestamp
  /// Predicted position at `moment`, within `bound` of the actual position.
  public var coordinate: Coordinate
  /// Velocity in m/s, east and north.
  public var velocity: SIMD2<Double>
  /// Maximum distance in m between a fix and the prediction for the time of the fix, while the report is
  /// valid.
  public var bound: Double
  /// Display delay in s. The bound applies to the position displayed for the time `delay` seconds ago; 0
  /// displays the current position.
  public var delay: Double
  /// Time in s for which the bound applies without another report. Nil if the bound applies until the next
  /// report, as in reports of older versions.
  public var validity: Double?
  /// Growth of the bound in m/s after the end of `validity`.
  public var growth = 0.0
  /// Stated accuracy in m (68 %) of the fix at `moment`; nil if unknown. The prediction does not depend on it.
  public var accuracy: Double?

  public init(
    moment: Timestamp, coordinate: Coordinate, velocity: SIMD2<Double>, bound: Double, delay: Double,
    validity: Double? = nil, growth: Double = 0, accuracy: Double? = nil
  ) {
    self.moment = moment
    self.coordinate = coordinate
    self.velocity = velocity
    self.bound = bound
    self.delay = delay
    self.validity = validity
    self.growth = growth
    self.accuracy = accuracy
  }

  /// Returns whether the bound is guaranteed at a time.
  public func isPromised(at time: Timestamp) -> Bool {
    validity.map { time.seconds(since: moment) <= $0 } ?? true
  }

  /// Returns the maximum distance in m between the vehicle's fix and the prediction at a time: the bound, plus
  /// its growth after the end of the validity.
  public func bound(at time: Timestamp) -> Double {
    guard let validity else { return bound }
    return bound + growth * max(0, time.seconds(since: moment) - validity)
  }

  /// Returns the radius in m around the prediction that contains the vehicle at a time, where the accuracy
  /// holds: the bound plus the accuracy of the fix. Nil if the accuracy is unknown.
  public func radius(at time: Timestamp) -> Double? { accuracy.map { bound(at: time) + $0 } }

  /// Returns the predicted position at a time; before the report takes effect, the line is extended
  /// backwards.
  public func coordinate(at time: Timestamp) -> Coordinate {
    LocalFrame(origin: coordinate).coordinate(at: velocity * time.seconds(since: moment))
  }

  /// Returns the distance in m between a position and the prediction for its time.
  public func error(of position: Coordinate, at time: Timestamp) -> Double {
    coordinate(at: time).distance(to: position)
  }
}
