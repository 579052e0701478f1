internal import Bytes
public import Spatial

/// The stored state of an odometer: its distance, and the position at which it resumes.
public struct OdometerState: Hashable, Sendable {
  /// A position of the vehicle.
  public struct Place: Hashable, Sendable {
    public var coordinate: Coordinate
    /// The 68 % radius in m.
    public var radius: Double

    public init(coordinate: Coordinate, radius: Double) {
      self.coordinate = coordinate
      self.radius = radius
    }
  }

  /// The distance in m.
  public var distance: Double
  /// The part of `distance` in m that was estimated in gaps.
  public var estimated: Double
  /// The difference between the vehicle's own odometer and `distance`, m.
  public var offset: Double
  /// The last position; nil if it is unknown or must not be stored. Without a stored position, the distance
  /// to the next position is not counted.
  public var place: Place?
  /// The velocity east and north in m/s; nil if unknown.
  public var velocity: SIMD2<Double>?
  /// The time of the position; nil if the clock was not set.
  public var time: UTCTime?
  /// The last published reading in m; nil if readings after this state may have been published.
  public var reported: Double?

  public init(
    distance: Double = 0, estimated: Double = 0, offset: Double = 0, place: Place? = nil,
    velocity: SIMD2<Double>? = nil,
    time: UTCTime? = nil, reported: Double? = nil
  ) {
    self.distance = distance
    self.estimated = estimated
    self.offset = offset
    self.place = place
    self.velocity = velocity
    self.time = time
    self.reported = reported
  }

  /// A distance in m above that of any vehicle: ten million kilometres.
  public static let farthest = 1e10

  /// True if the values are plausible for an odometer.
  public var isValid: Bool {
    (0...Self.farthest).contains(distance)
      && estimated >= 0 && estimated <= distance
      && abs(offset) <= Self.farthest
      && (place.map { $0.coordinate.isValid && $0.radius.isFinite && $0.radius >= 0 } ?? true)
      && (reported.map { abs($0) <= 2 * Self.farthest } ?? true)
      && (velocity.map { $0.magnitude < 150 } ?? true)
  }
}
