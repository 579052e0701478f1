/// `_type` cmd of the OwnTracks format: what a device is told to do.
public enum OwnTracksCommand: Hashable, Sendable {
  case reportLocation
  case status
  case dump
  case waypoints
  case setWaypoints([OwnTracksWaypoint])
  case clearWaypoints
  /// The configuration object as it came.
  case setConfiguration(JSONValue)

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  public init(json: JSONValue) throws(JSONError) {
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
