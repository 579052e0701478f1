internal import Glibc
public import Sensors
internal import Spatial
public import VehicleData

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
