package import Fleet
package import Spatial

/// A position of a vehicle at one time, in a compact form of 48 bytes.
package struct TrackSample: Hashable, Sendable {
  /// Milliseconds since 1970 by the vehicle's clock.
  package var time: Int64
  /// Degrees, WGS 84.
  package var latitude: Double
  package var longitude: Double
  /// Altitude above mean sea level in m. NaN means unknown for altitude, accuracy, speed and course.
  package var altitude: Float
  /// The 68 % radius in m; NaN if unknown.
  package var accuracy: Float
  /// Ground speed in m/s; NaN if unknown.
  package var speed: Float
  /// Course in degrees clockwise from true north; NaN if unknown.
  package var course: Float
  package var source: Source

  package enum Source: UInt8, Hashable, Sendable, CaseIterable {
    /// A position from a `location` message, which is sent immediately.
    case location
    /// A position from a `track` message, which is sent later.
    case track
    /// A position from radio beacons in a `location` message, often inaccurate by hundreds of metres.
    case coarse
    /// A position in a `location` message that another measurement contradicts.
    case suspect

    /// True if lines and distances include the position: it is neither suspect nor from radio beacons.
    package var isOnPath: Bool { self == .location || self == .track }

    /// The name in exports.
    package var name: String {
      switch self {
      case .location: RecordedPosition.Source.location.rawValue
      case .track: RecordedPosition.Source.track.rawValue
      case .coarse: RecordedPosition.Source.coarse.rawValue
      case .suspect: RecordedPosition.Source.suspect.rawValue
      }
    }
  }

  package init(
    time: Int64, latitude: Double, longitude: Double, altitude: Float = .nan, accuracy: Float = .nan,
    speed: Float = .nan, course: Float = .nan, source: Source = .location
  ) {
    (self.time, self.latitude, self.longitude) = (time, latitude, longitude)
    (self.altitude, self.accuracy, self.speed, self.course) = (altitude, accuracy, speed, course)
    self.source = source
  }

  package var coordinate: Coordinate { Coordinate(latitude: latitude, longitude: longitude) }

  package var moment: UTCTime { UTCTime(milliseconds: time) }

  /// Creates a sample; nil for a row without a time or position, which only other programs can have written.
  init?(
    time: Int64?, latitude: Double?, longitude: Double?, altitude: Double?, accuracy: Double?, speed: Double?,
    course: Double?, source: Int64
  ) {
    guard let time, let latitude, let longitude else { return nil }
    let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    guard coordinate.isValid else { return nil }
    func small(_ number: Double?) -> Float { number.map { Float($0) } ?? .nan }
    self.init(
      time: time, latitude: latitude, longitude: longitude, altitude: small(altitude),
      accuracy: small(accuracy), speed: small(speed), course: small(course),
      source: Source(rawValue: UInt8(clamping: source)) ?? .location)
  }
}

/// A vehicle and a time range; the range includes its start and excludes its end.
package struct TrackSpan: Hashable, Sendable {
  package var vehicle: VehicleKey
  package var from: UTCTime
  package var to: UTCTime

  package init(vehicle: VehicleKey, from: UTCTime, to: UTCTime) {
    (self.vehicle, self.from, self.to) = (vehicle, from, to)
  }
}
