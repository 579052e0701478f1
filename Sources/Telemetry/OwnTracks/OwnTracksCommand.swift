package import JSON
package import Spatial

/// A command of the OwnTracks format (`_type` cmd).
package enum OwnTracksCommand: Hashable, Sendable {
  case reportLocation
  case status
  case dump
  case waypoints
  case setWaypoints([OwnTracksWaypoint])
  case clearWaypoints
  /// The configuration object as received.
  case setConfiguration(JSONValue)

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard json["_type"]?.string == "cmd" else { throw JSONError("key \"_type\": must be \"cmd\"") }
    let action = json["action"]?.string ?? ""
    switch action {
    case "reportLocation": self = .reportLocation
    case "status": self = .status
    case "dump": self = .dump
    case "waypoints": self = .waypoints
    case "clearWaypoints": self = .clearWaypoints
    case "setWaypoints":
      guard let elements = json["waypoints"]?["waypoints"]?.array else {
        throw JSONError("key \"waypoints\": must be an object with an array \"waypoints\"")
      }
      var waypoints: [OwnTracksWaypoint] = []
      for (index, element) in elements.enumerated() {
        do throws(JSONError) {
          waypoints.append(try OwnTracksWaypoint(json: element))
        } catch { throw JSONError("waypoint \(index): \(error.description)") }
      }
      self = .setWaypoints(waypoints)
    case "setConfiguration":
      guard case .object? = json["configuration"], let configuration = json["configuration"] else {
        throw JSONError("key \"configuration\": must be an object")
      }
      self = .setConfiguration(configuration)
    default:
      throw JSONError(
        "key \"action\": \"\(action.prefix(40))\" is not one of reportLocation, status, dump, waypoints, "
          + "setWaypoints, clearWaypoints, setConfiguration")
    }
  }
}

/// Answer of a vehicle to a command of the OwnTracks format.
package enum OwnTracksAnswer: Hashable, Sendable {
  /// A location; nil for the last published location. Before the first location, nothing is sent.
  case location(LocationMessage?)
  /// The last status message (nil before the first) at the time of the answer.
  case status(StatusMessage?, at: UTCTime)
  /// The configuration in the terms of the OwnTracks format.
  /// - Parameters:
  ///   - displacement: distance in m between locations; nil if every fix is published.
  ///   - settings: JSON object with the keys that can be set remotely and their values.
  case dump(displacement: Double?, keepAlive: Int, settings: JSONValue)
  /// A circle that was added or changed.
  case waypoint(OwnTracksWaypoint)
  /// All circles.
  case waypoints([OwnTracksWaypoint])
}
