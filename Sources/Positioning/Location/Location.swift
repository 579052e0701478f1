public import Spatial

/// Where the device is, and how well that is known. Whatever is not known is nil.
public struct Location: Hashable, Sendable {
  /// When the fix reached the device, on its own time line.
  public var timestamp: Timestamp
  /// The receiver's time of the fix.
  public var time: UTCTime?
  public var coordinate: Coordinate
  /// Metres: the true position lies within this radius with 68 % confidence.
  public var horizontalAccuracy: Double?
  /// Metres above mean sea level.
  public var altitude: Double?
  /// Metres above the WGS 84 ellipsoid.
  public var ellipsoidalAltitude: Double?
  /// Metres, one standard deviation.
  public var verticalAccuracy: Double?
  /// Metres per second over ground.
  public var speed: Double?
  /// Metres per second, one standard deviation.
  public var speedAccuracy: Double?
  /// Degrees clockwise from true north, 0 ..< 360.
  public var course: Double?
  /// Degrees, one standard deviation.
  public var courseAccuracy: Double?
  /// The receiver or recording that it came from.
  public var source: String?

  public init(timestamp: Timestamp, coordinate: Coordinate) {
    self.timestamp = timestamp
    self.coordinate = coordinate
  }
}
