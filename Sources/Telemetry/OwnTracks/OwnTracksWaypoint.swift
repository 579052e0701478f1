package import JSON
package import Spatial

/// A circular region of the OwnTracks format (`_type` waypoint).
package struct OwnTracksWaypoint: Hashable, Sendable {
  /// Name of the region.
  package var description: String
  package var coordinate: Coordinate
  /// Radius in m.
  package var radius: Double
  /// Time of definition. Older programs identify the waypoint by this time and the name.
  package var time: UTCTime
  package var regionID: String

  package init(description: String, coordinate: Coordinate, radius: Double, time: UTCTime, regionID: String) {
    self.description = description
    self.coordinate = coordinate
    self.radius = radius
    self.time = time
    self.regionID = regionID
  }

  package var payload: [UInt8] { JSONWriter.object { write(to: &$0) } }

  /// Returns a message of `_type` waypoints with all given regions.
  package static func payload(of waypoints: [OwnTracksWaypoint]) -> [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "waypoints")
      json.field("_creator", "odographd")
      json.field("waypoints", objects: waypoints) { json, waypoint in
        waypoint.write(to: &json)
      }
    }
  }

  private func write(to json: inout JSONWriter) {
    json.field("_type", "waypoint")
    json.field("desc", description)
    json.field("lat", coordinate.latitude, decimals: 7)
    json.field("lon", coordinate.longitude, decimals: 7)
    json.field("rad", radius, decimals: 0)
    json.field("tst", time.wholeSeconds)
    json.field("rid", regionID)
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard let description = json["desc"]?.string, !description.isEmpty else {
      throw JSONError("key \"desc\": missing or not a name")
    }
    self.description = description
    coordinate = Coordinate(
      latitude: try json.required("lat", in: -90...90), longitude: try json.required("lon", in: -180...180))
    radius = try json.required("rad", in: 0...10_000_000)
    time = UTCTime(secondsSince1970: try json.required("tst", in: 0...9e9))
    regionID = json["rid"]?.string ?? description
  }
}
