public import Sensors
public import Spatial

/// A position with its accuracy. Unknown values are nil.
public struct Location: Hashable, Sendable {
  /// Arrival time of the fix, by the device's monotonic clock.
  public var timestamp: Timestamp
  /// The receiver's time of the fix.
  public var time: UTCTime?
  public var coordinate: Coordinate
  /// Radius in m that contains the true position with 68 % confidence.
  public var horizontalAccuracy: Double?
  /// Metres above mean sea level.
  public var altitude: Double?
  /// Metres above the WGS 84 ellipsoid.
  public var ellipsoidalAltitude: Double?
  /// Standard deviation of the altitude in m.
  public var verticalAccuracy: Double?
  /// Speed over ground in m/s.
  public var speed: Double?
  /// Standard deviation of the speed in m/s.
  public var speedAccuracy: Double?
  /// Course in degrees clockwise from true north, 0 ..< 360.
  public var course: Double?
  /// Standard deviation of the course in degrees.
  public var courseAccuracy: Double?
  /// Name of the receiver or recording that provided the location; nil if unknown.
  public var source: String?
  /// The method of positioning; nil if the receiver is the only source of positions.
  public var positionSource: PositionSource?
  /// The sensors behind `altitude`; nil without a barometer.
  public var altitudeSource: AltitudeSource?
  /// True if several beacons contradict the position: the receiver is spoofed, or the map is wrong.
  public var contradictsBeacons = false
  /// The contradiction with other measurements; nil if there is none. A suspect position affects no region
  /// and no pause.
  public var suspicion: Suspicion?
  /// The level in a parking garage; nil under open sky, without a barometer, and if unknown.
  public var floor: Floor?
  /// Odometer reading at the time of the fix; nil without an odometer.
  public var odometer: OdometerReading?

  public init(timestamp: Timestamp, coordinate: Coordinate) {
    self.timestamp = timestamp
    self.coordinate = coordinate
  }
}

/// The sensors behind an altitude.
public enum AltitudeSource: String, Hashable, Sendable, CaseIterable {
  /// Receiver and barometer.
  case fused
  /// The receiver's last altitude plus changes measured by the barometer.
  case barometric
}
