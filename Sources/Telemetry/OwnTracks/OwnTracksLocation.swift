package import JSON
internal import Sensors
package import Spatial
internal import VehicleData

/// A location of the OwnTracks format (`_type` location).
package struct OwnTracksLocation: Hashable, Sendable {
  /// The reason for the publication.
  package enum Trigger: String, Hashable, Sendable, CaseIterable {
    /// The vehicle crossed the boundary of a region.
    case region = "c"
    /// The location answers the command `reportLocation`.
    case response = "r"
    /// The vehicle moved.
    case moving = "t"
  }

  /// Battery state (`bs` of the format).
  package enum BatteryStatus: Int, Hashable, Sendable, CaseIterable {
    case unknown, unplugged, charging, full
  }

  package var time: UTCTime
  package var coordinate: Coordinate
  /// Horizontal accuracy in m (68 %).
  package var horizontalAccuracy: Double?
  /// Metres above mean sea level.
  package var altitude: Double?
  /// Standard deviation of the altitude in m.
  package var verticalAccuracy: Double?
  /// Speed in m/s; the format contains km/h.
  package var speed: Double?
  /// Course in degrees clockwise from true north.
  package var course: Double?
  /// Charge level in percent.
  package var battery: Double?
  package var batteryStatus: BatteryStatus?
  /// Two characters that a map displays.
  package var trackerID: String
  package var trigger: Trigger
  /// Names and identifiers of the regions that contain the vehicle.
  package var regions: [(name: String, identifier: String)] {
    get { regionNames.indices.map { (regionNames[$0], regionIdentifiers[$0]) } }
    set {
      regionNames = newValue.map(\.name)
      regionIdentifiers = newValue.map(\.identifier)
    }
  }
  /// Creation time of the message, if it is later than the time of the position; otherwise nil.
  package var createdAt: UTCTime?

  /// True if the position comes from radios in reach instead of a fix. The format has no equivalent, so this
  /// is an additional member, which other programs ignore.
  package var isCoarse = false

  private var regionNames: [String] = []
  private var regionIdentifiers: [String] = []

  package init(time: UTCTime, coordinate: Coordinate, trackerID: String, trigger: Trigger = .moving) {
    self.time = time
    self.coordinate = coordinate
    self.trackerID = trackerID
    self.trigger = trigger
  }

  /// Encoded payload. All numbers except the coordinate are integers, as other programs of the format
  /// require. Accuracies are rounded up; an unknown horizontal accuracy is `UnstatedAccuracy`.
  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "location")
      json.field("lat", coordinate.latitude, decimals: 7)
      json.field("lon", coordinate.longitude, decimals: 7)
      json.field("tst", time.wholeSeconds)
      json.field("acc", (horizontalAccuracy ?? UnstatedAccuracy.metres).rounded(.up), decimals: 0)
      json.field("alt", altitude, decimals: 0)
      json.field("vac", verticalAccuracy?.rounded(.up), decimals: 0)
      json.field("vel", speed.map { $0 * 3.6 }, decimals: 0)
      json.field("cog", course.map { $0.rounded() == 360 ? 0 : $0 }, decimals: 0)
      json.field("batt", battery, decimals: 0)
      json.field("bs", batteryStatus?.rawValue)
      json.field("tid", trackerID)
      json.field("t", trigger.rawValue)
      if !regionNames.isEmpty {
        json.field("inregions", texts: regionNames)
        json.field("inrids", texts: regionIdentifiers)
      }
      if let createdAt { json.field("created_at", createdAt.wholeSeconds) }
      if isCoarse { json.field("positionSource", PositionSource.coarse.rawValue) }
    }
  }
}

extension OwnTracksLocation {
  /// Reads a location of a vehicle, or of any other device with the OwnTracks format.
  /// - Throws: `JSONError` naming the key that is missing or out of range.
  package init(json: JSONValue) throws(JSONError) {
    guard json["_type"]?.string == "location" else {
      throw JSONError("key \"_type\": must be \"location\"")
    }
    self.init(
      time: try json.ownTracksTime("tst"), coordinate: try json.ownTracksCoordinate(),
      trackerID: json["tid"]?.string ?? "",
      trigger: json["t"]?.string.flatMap(Trigger.init(rawValue:)) ?? .moving)
    // Devices write -1 for unknown values.
    horizontalAccuracy = try json.ownTracksAccuracy("acc")
    altitude = try json.optional("alt", in: -1e8...1e8)
    verticalAccuracy = try json.ownTracksAccuracy("vac")
    speed = json["vel"]?.double.flatMap { (0...1e5).contains($0) ? $0 / 3.6 : nil }
    course = json["cog"]?.double.flatMap { (0...360).contains($0) ? $0 : nil }
    battery = json["batt"]?.double.flatMap { (0...100).contains($0) ? $0 : nil }
    batteryStatus = json["bs"]?.integer.flatMap { Int(exactly: $0) }.flatMap(BatteryStatus.init(rawValue:))
    let names = json["inregions"]?.array?.compactMap(\.string) ?? []
    let identifiers = json["inrids"]?.array?.compactMap(\.string) ?? []
    regions = names.enumerated().map { index, name in
      (name, index < identifiers.count ? identifiers[index] : name)
    }
    createdAt = try? json.ownTracksTime("created_at")
    isCoarse = json["positionSource"]?.string == PositionSource.coarse.rawValue
  }

  /// The location as a native message without an identity, because the format contains none.
  package var native: LocationMessage {
    var location = Location(timestamp: Timestamp(nanoseconds: time.nanoseconds), coordinate: coordinate)
    location.time = time
    location.horizontalAccuracy = horizontalAccuracy
    location.altitude = altitude
    location.verticalAccuracy = verticalAccuracy
    location.speed = speed
    location.course = course
    if isCoarse { location.positionSource = .coarse }
    return LocationMessage(identity: nil, time: time, location: PrivacyPolicy.unrestricted(location))
  }
}

extension JSONValue {
  /// Reads a time of the format: seconds since 1970.
  func ownTracksTime(_ name: String) throws(JSONError) -> UTCTime {
    UTCTime(secondsSince1970: try required(name, in: 0...9e9))
  }

  /// Returns an accuracy in m; nil if it is missing or negative. A negative value means unknown.
  func ownTracksAccuracy(_ name: String) throws(JSONError) -> Double? {
    let accuracy: Double? = try optional(name, in: -1e8...1e8)
    return accuracy.flatMap { $0 < 0 ? nil : $0 }
  }

  func ownTracksCoordinate() throws(JSONError) -> Coordinate {
    Coordinate(
      latitude: try required("lat", in: -90...90), longitude: try required("lon", in: -180...180))
  }
}

extension UTCTime {
  /// Seconds since 1970, rounded down, as the OwnTracks format requires.
  var wholeSeconds: Int64 {
    let (quotient, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? quotient - 1 : quotient
  }
}
