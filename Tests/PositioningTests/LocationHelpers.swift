import Positioning
import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

extension Place {
  static func location(
    _ seconds: Double, _ east: Double, _ north: Double = 0, speed: Double? = nil, accuracy: Double? = 3
  ) -> Location {
    var location = Location(timestamp: Timestamp(seconds: seconds), coordinate: coordinate(east, north))
    location.time = start.advanced(bySeconds: seconds)
    (location.speed, location.horizontalAccuracy) = (speed, accuracy)
    return location
  }

  /// The same location as reported without privacy zones.
  static func shown(
    _ seconds: Double, _ east: Double, speed: Double? = nil, accuracy: Double? = 3
  ) -> ShownLocation {
    PrivacyPolicy.unrestricted(location(seconds, east, speed: speed, accuracy: accuracy))
  }

  /// The fixes of one of the recordings in `tracks`.
  static func recordedFixes(_ name: String) throws -> [PositionFix] { try #require(recorded[name]).get() }

  /// Each recording is read once for all tests.
  private static let recorded = Dictionary(
    uniqueKeysWithValues: tracks.map { name in (name, Result { try read(name) }) })

  private static func read(_ name: String) throws -> [PositionFix] {
    // The dates in the sentences of the reference have wrong checksums; only its times of day are used.
    var recording = try NMEARecording(
      path: Shared.file("data/tracks/\(name)"), startDate: start, toleratingBrokenSentences: true)
    var fixes: [PositionFix] = []
    while case .position(let block)? = try recording.next() { fixes += block }
    return fixes
  }

  static let tracks = ["mtv_ublox_f9k_slim2025.nmea", "munich_2025.nmea", "mtv_span_truth.gga"]
}

extension LocationManager {
  /// A manager that has started updates.
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
