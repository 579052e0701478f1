public import Sensors
public import Spatial

/// Coordinates and fixes relative to an origin, by metres east and north and seconds since the start.
public enum Place {
  public static let origin = Coordinate(latitude: 48, longitude: 11)
  /// 2026-11-21T08:00:00Z.
  public static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  public static func coordinate(_ east: Double, _ north: Double = 0) -> Coordinate {
    // Computed on the geodesic, so that distances are exact.
    origin.destination(distance: abs(east), bearing: east < 0 ? 270 : 90)
      .destination(distance: abs(north), bearing: north < 0 ? 180 : 0)
  }

  public static func fix(
    _ seconds: Double, _ east: Double, _ north: Double = 0, speed: Double? = nil, course: Double? = nil,
    dilution: Double? = 1
  ) -> PositionFix {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: seconds), time: start.advanced(bySeconds: seconds),
      mode: .threeDimensional, coordinate: coordinate(east, north))
    (fix.speed, fix.course, fix.horizontalDilution) = (speed, course, dilution)
    return fix
  }
}
