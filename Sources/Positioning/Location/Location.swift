internal import Glibc
public import Motion
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

extension Location {
  /// Creates a location from a receiver's report; nil if the report has no position. `horizontalAccuracy` is
  /// the receiver's estimate, or follows from the dilution of precision. The estimate of `AccuracyModel` is
  /// more accurate.
  public init?(fix: PositionFix) {
    guard let coordinate = fix.coordinate, coordinate.isValid else { return nil }
    self.init(timestamp: fix.timestamp, coordinate: coordinate)
    time = fix.time
    altitude = fix.altitudeMeanSeaLevel
    ellipsoidalAltitude = fix.altitudeEllipsoidal
    horizontalAccuracy = AccuracyModel.radius(of: fix)
    verticalAccuracy = AccuracyModel.deviation(fix.verticalError)
    speed = fix.speed
    speedAccuracy = AccuracyModel.deviation(fix.speedError)
    course = fix.course
    courseAccuracy = AccuracyModel.deviation(fix.courseError).map { min(180, $0) }
    source = fix.receiver
  }

  /// Velocity in m/s, east and north; nil if speed or course is unknown. A stationary vehicle needs no
  /// course.
  var velocity: SIMD2<Double>? {
    guard let speed else { return nil }
    if speed == 0 { return .zero }
    return course.map { speed * SIMD2(sin($0.radians), cos($0.radians)) }
  }

  /// Returns the time in s since an earlier location, by the receiver's time of the fixes if available and
  /// increasing, otherwise by arrival.
  func seconds(since earlier: Location) -> Double {
    if let time, let before = earlier.time, case let step = time.seconds(since: before), step > 0 {
      return step
    }
    return timestamp.seconds(since: earlier.timestamp)
  }
}

extension Location {
  /// Approximate side of a cell of Core Location's reduced accuracy in m.
  private static let reducedCell = 5000.0

  /// Maximum distance in m between a position and the centre of its cell at reduced accuracy.
  static let reducedAccuracy = 3600.0

  /// The location at Core Location's reduced accuracy: only its cell is revealed. Many reports of a parked
  /// vehicle reveal no more than a single report.
  package var reduced: Location { blurred(to: GridCell(holding: coordinate, size: Self.reducedCell)) }
}
