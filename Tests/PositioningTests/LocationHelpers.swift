import Positioning
import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

/// Fixes and locations around a place: metres east and north of it, seconds since the start.
enum Place {
  static let origin = Coordinate(latitude: 48, longitude: 11)
  /// 2026-11-21T08:00:00Z.
  static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  static func coordinate(_ east: Double, _ north: Double = 0) -> Coordinate {
    // By the geodesic, so that metres are metres.
    origin.destination(distance: abs(east), bearing: east < 0 ? 270 : 90)
      .destination(distance: abs(north), bearing: north < 0 ? 180 : 0)
  }

  static func fix(
    _ seconds: Double, _ east: Double, _ north: Double = 0, speed: Double? = nil, course: Double? = nil,
    dilution: Double? = 1
  ) -> PositionFix {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: seconds), time: start.advanced(bySeconds: seconds),
      mode: .threeDimensional, coordinate: coordinate(east, north))
    (fix.speed, fix.course, fix.horizontalDilution) = (speed, course, dilution)
    return fix
  }

  static func location(
    _ seconds: Double, _ east: Double, _ north: Double = 0, speed: Double? = nil, accuracy: Double? = 3
  ) -> Location {
    var location = Location(timestamp: Timestamp(seconds: seconds), coordinate: coordinate(east, north))
    location.time = start.advanced(bySeconds: seconds)
    (location.speed, location.horizontalAccuracy) = (speed, accuracy)
    return location
  }

  /// The reports of one of the `tracks`.
  static func recordedFixes(_ name: String) throws -> [PositionFix] { try #require(recorded[name]).get() }

  /// Each is read once for all tests.
  private static let recorded = Dictionary(
    uniqueKeysWithValues: tracks.map { name in (name, Result { try read(name) }) })

  private static func read(_ name: String) throws -> [PositionFix] {
    // The dates in the truth's sentences have broken checksums; its times of day are what counts.
    var recording = try NMEARecording(
      path: Shared.file("data/tracks/\(name)"), startDate: start, toleratingBrokenSentences: true)
    var fixes: [PositionFix] = []
    while case .position(let block)? = try recording.next() { fixes += block }
    return fixes
  }

  static let tracks = ["mtv_ublox_f9k_slim2025.nmea", "munich_2025.nmea", "mtv_span_truth.gga"]
}

extension LocationManager {
  /// One that updates already.
  static func updating(
    _ accuracy: DesiredAccuracy = .best, distanceFilter: Double? = nil,
    activity: ActivityType = .automotive, pauses: Bool = false
  ) -> LocationManager {
    var manager = LocationManager(
      desiredAccuracy: accuracy, distanceFilter: distanceFilter, activityType: activity,
      pausesLocationUpdatesAutomatically: pauses)
    manager.startUpdatingLocation()
    return manager
  }
}
