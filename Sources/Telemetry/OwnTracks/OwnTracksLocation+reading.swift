internal import Positioning
internal import Spatial

extension OwnTracksLocation {
  /// Reads a location, of whatever device.
  /// - Throws: `JSONError` naming the key that is missing or out of range.
  public init(json: JSONValue) throws(JSONError) {
    guard json["_type"]?.string == "location" else {
      throw JSONError("key \"_type\": must be \"location\"")
    }
    self.init(
      time: try json.ownTracksTime("tst"), coordinate: try json.ownTracksCoordinate(),
      trackerID: json["tid"]?.string ?? "",
      trigger: json["t"]?.string.flatMap(Trigger.init(rawValue:)) ?? .moving)
    horizontalAccuracy = try json.optional("acc", in: 0...1e8)
    altitude = try json.optional("alt", in: -1e8...1e8)
    verticalAccuracy = try json.optional("vac", in: 0...1e8)
    // Devices write -1 for what they do not know.
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
  }

  /// The location in the native vocabulary. It has no number: the format knows none.
  public var native: LocationMessage {
    var location = Location(timestamp: Timestamp(nanoseconds: time.nanoseconds), coordinate: coordinate)
    location.time = time
    location.horizontalAccuracy = horizontalAccuracy
    location.altitude = altitude
    location.verticalAccuracy = verticalAccuracy
    location.speed = speed
    location.course = course
    return LocationMessage(identity: nil, time: time, location: location)
  }
}

extension OwnTracksTransition {
  /// - Throws: `JSONError` naming the key that is missing or wrong.
  public init(json: JSONValue) throws(JSONError) {
    guard json["_type"]?.string == "transition" else {
      throw JSONError("key \"_type\": must be \"transition\"")
    }
    let name = json["event"]?.string ?? ""
    guard let event = Event(rawValue: name) else {
      throw JSONError("key \"event\": \"\(name.prefix(40))\" is not one of enter, leave")
    }
    let identifier = json["rid"]?.string
    guard let description = json["desc"]?.string ?? identifier, !description.isEmpty else {
      throw JSONError("key \"desc\": missing or not a name")
    }
    self.init(
      event: event, time: try json.ownTracksTime("tst"), description: description,
      regionID: identifier ?? description,
      waypointTime: (try? json.ownTracksTime("wtst")) ?? UTCTime(nanoseconds: 0),
      trackerID: json["tid"]?.string ?? "")
    coordinate = try? json.ownTracksCoordinate()
    horizontalAccuracy = try json.optional("acc", in: 0...1e8)
  }
}

extension JSONValue {
  /// The format's clock: seconds since 1970.
  func ownTracksTime(_ name: String) throws(JSONError) -> UTCTime {
    UTCTime(secondsSince1970: try required(name, in: 0...9e9))
  }

  func ownTracksCoordinate() throws(JSONError) -> Coordinate {
    Coordinate(
      latitude: try required("lat", in: -90...90), longitude: try required("lon", in: -180...180))
  }
}
