internal import Glibc
public import Motion
public import Sensors
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
  /// How it was found; nil where nothing but a receiver is there to find it.
  public var positionSource: PositionSource?
  /// What `altitude` comes from; nil where no barometer has a part in it.
  public var altitudeSource: AltitudeSource?
  /// Whether it lies where several beacons say that the device is not: the receiver is deceived, or the map is wrong.
  public var contradictsBeacons = false
  /// The contradiction with other measurements; nil if there is none. A suspect position decides nothing: no region, no pause.
  public var suspicion: Suspicion?
  /// The level of a garage; nil under the sky, without a barometer and where it is not known.
  public var floor: Floor?
  /// How far the vehicle had come by then; nil where nothing counts it.
  public var odometer: OdometerReading?

  public init(timestamp: Timestamp, coordinate: Coordinate) {
    self.timestamp = timestamp
    self.coordinate = coordinate
  }
}

/// What an altitude comes from where there is a barometer.
public enum AltitudeSource: String, Hashable, Sendable, CaseIterable {
  /// Receiver and barometer.
  case fused
  /// The barometer's changes since the receiver last said an altitude.
  case barometric
}

extension Location {
  /// A location from a receiver's report; nil when the report has no position. `horizontalAccuracy` is what the receiver
  /// says or its dilution gives; `AccuracyModel` knows more.
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

  /// Metres per second east and north; nil when either speed or course is unknown. A standing vehicle needs no course.
  var velocity: SIMD2<Double>? {
    guard let speed else { return nil }
    if speed == 0 { return .zero }
    return course.map { speed * SIMD2(sin($0.radians), cos($0.radians)) }
  }

  /// Seconds since an earlier location: by the receiver's time, which is that of the fixes, where that is known and runs
  /// forward, else by when they came.
  func seconds(since earlier: Location) -> Double {
    if let time, let before = earlier.time, case let step = time.seconds(since: before), step > 0 {
      return step
    }
    return timestamp.seconds(since: earlier.timestamp)
  }
}

extension Location {
  /// Metres along a side of a cell of Core Location's reduced accuracy, about.
  private static let reducedCell = 5000.0

  /// Metres: no position of such a cell is farther from its middle.
  static let reducedAccuracy = 3600.0

  /// As Core Location's reduced accuracy tells it: the device is somewhere in a cell, and where exactly nobody is told.
  /// Many reports of a parked vehicle say no more than one.
  package var reduced: Location { blurred(to: GridCell(holding: coordinate, size: Self.reducedCell)) }
}
