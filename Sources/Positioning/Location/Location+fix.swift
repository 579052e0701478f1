public import Sensors
internal import Spatial

extension Location {
  /// gpsd states errors at 95 % confidence, 1.96 standard deviations of a normal distribution.
  static let gpsdConfidence = 1.96

  /// A location from a receiver's report; nil when the report has no position.
  public init?(fix: PositionFix) {
    guard let coordinate = fix.coordinate, coordinate.isValid else { return nil }
    self.init(timestamp: fix.timestamp, coordinate: coordinate)
    time = fix.time
    altitude = fix.altitudeMeanSeaLevel
    ellipsoidalAltitude = fix.altitudeEllipsoidal
    horizontalAccuracy = fix.horizontalError.map { $0 / Self.gpsdConfidence }
    verticalAccuracy = fix.verticalError.map { $0 / Self.gpsdConfidence }
    speed = fix.speed
    speedAccuracy = fix.speedError.map { $0 / Self.gpsdConfidence }
    course = fix.course
    courseAccuracy = fix.courseError.map { min(180, $0 / Self.gpsdConfidence) }
    source = fix.receiver
  }
}
