public import Positioning
public import Spatial

/// Payload of `location`: the last known position of a vehicle.
public struct LocationMessage: Hashable, Sendable {
  public var identity: MessageIdentity?
  public var time: UTCTime
  public var location: Location

  public init(identity: MessageIdentity?, time: UTCTime, location: Location) {
    self.identity = identity
    self.time = time
    self.location = location
  }

  /// The wire form. Coordinates have 8 decimals (1 mm), metres and m/s two or three, degrees two.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("latitude", location.coordinate.latitude, decimals: 8)
      json.field("longitude", location.coordinate.longitude, decimals: 8)
      json.field("altitude", location.altitude, decimals: 2)
      json.field("ellipsoidalAltitude", location.ellipsoidalAltitude, decimals: 2)
      json.field("horizontalAccuracy", location.horizontalAccuracy, decimals: 2)
      json.field("verticalAccuracy", location.verticalAccuracy, decimals: 2)
      json.field("speed", location.speed, decimals: 3)
      json.field("speedAccuracy", location.speedAccuracy, decimals: 3)
      json.field("course", location.course, decimals: 2)
      json.field("courseAccuracy", location.courseAccuracy, decimals: 2)
      json.field("source", location.source)
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or out of range.
  public init(json: JSONValue) throws(JSONError) {
    let coordinate = Coordinate(
      latitude: try json.required("latitude", in: -90...90),
      longitude: try json.required("longitude", in: -180...180))
    time = try json.requiredTime("time")
    // The device's time line means nothing to a reader; civil time stands in for it.
    var location = Location(timestamp: Timestamp(nanoseconds: time.nanoseconds), coordinate: coordinate)
    location.time = time
    location.altitude = json["altitude"]?.double
    location.ellipsoidalAltitude = json["ellipsoidalAltitude"]?.double
    location.horizontalAccuracy = try json.optional("horizontalAccuracy", in: 0...1e8)
    location.verticalAccuracy = try json.optional("verticalAccuracy", in: 0...1e8)
    location.speed = try json.optional("speed", in: 0...1e5)
    location.speedAccuracy = try json.optional("speedAccuracy", in: 0...1e5)
    location.course = try json.optional("course", in: 0...360)
    location.courseAccuracy = try json.optional("courseAccuracy", in: 0...360)
    location.source = json["source"]?.string
    self.location = location
    identity = json.identity
  }
}
