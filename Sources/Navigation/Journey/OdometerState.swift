internal import Bytes
public import Spatial

/// What is kept of an odometer across restarts: how far it has come, and from where the way goes on.
public struct OdometerState: Hashable, Sendable {
  /// Where the vehicle was.
  public struct Place: Hashable, Sendable {
    public var coordinate: Coordinate
    /// Metres of a circle that holds the true position in 68 % of cases.
    public var radius: Double

    public init(coordinate: Coordinate, radius: Double) {
      self.coordinate = coordinate
      self.radius = radius
    }
  }

  /// Metres, and those of them that were closed, not measured.
  public var distance: Double
  public var estimated: Double
  /// Metres that the instrument panel shows beyond `distance`.
  public var offset: Double
  /// Nil where it is not known or may not be kept: then the way from there to the next place is lost.
  public var place: Place?
  /// m/s east and north; nil where it is not known.
  public var velocity: SIMD2<Double>?
  /// Of the place; nil where no clock was set.
  public var time: UTCTime?

  public init(
    distance: Double = 0, estimated: Double = 0, offset: Double = 0, place: Place? = nil,
    velocity: SIMD2<Double>? = nil,
    time: UTCTime? = nil
  ) {
    self.distance = distance
    self.estimated = estimated
    self.offset = offset
    self.place = place
    self.velocity = velocity
    self.time = time
  }

  /// Metres that no vehicle comes to: ten million kilometres.
  public static let farthest = 1e10

  /// Whether its numbers can be those of an odometer.
  public var isValid: Bool {
    (0...Self.farthest).contains(distance)
      && estimated >= 0 && estimated <= distance
      && abs(offset) <= Self.farthest
      && (place.map { $0.coordinate.isValid && $0.radius.isFinite && $0.radius >= 0 } ?? true)
      && (velocity.map { $0.magnitude < 150 } ?? true)
  }
}
