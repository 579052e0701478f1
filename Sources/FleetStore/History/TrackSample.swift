package import Fleet
package import Spatial

/// Where a vehicle was at a moment, in a form of which a day's worth is small: 48 bytes.
package struct TrackSample: Hashable, Sendable {
  /// Milliseconds since 1970, by the vehicle's clock.
  package var time: Int64
  /// Degrees, WGS 84.
  package var latitude: Double
  package var longitude: Double
  /// Metres above mean sea level; NaN where it is not known, as in all that follow.
  package var altitude: Float
  /// Metres at 68 %.
  package var accuracy: Float
  /// m/s.
  package var speed: Float
  /// Degrees clockwise from true north.
  package var course: Float
  package var source: Source

  package enum Source: UInt8, Hashable, Sendable, CaseIterable {
    /// Said at the time.
    case location
    /// Said afterwards, as one of many.
    case track
    /// Said at the time, by radios in reach: no fix, and often hundreds of metres off.
    case coarse

    /// As exports write it.
    package var name: String {
      switch self {
      case .location: RecordedPosition.Source.location.rawValue
      case .track: RecordedPosition.Source.track.rawValue
      case .coarse: RecordedPosition.Source.coarse.rawValue
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

  /// nil for a row without a time or a place, as a recording of another program may have.
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

/// The part of a vehicle's track that is meant: from a moment on, and before another.
package struct TrackSpan: Hashable, Sendable {
  package var vehicle: VehicleKey
  package var from: UTCTime
  package var to: UTCTime

  package init(vehicle: VehicleKey, from: UTCTime, to: UTCTime) {
    (self.vehicle, self.from, self.to) = (vehicle, from, to)
  }
}
