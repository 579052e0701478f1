internal import Glibc
public import Sensors
internal import Spatial

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
