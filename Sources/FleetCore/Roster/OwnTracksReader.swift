internal import Spatial
internal import Telemetry

/// The OwnTracks format's topics and payloads, of the agent and of phones.
enum OwnTracksReader {
  /// The format does not say when a session began: a will counts whenever it comes, and the next location ends it.
  private static let unknownStart = UTCTime(nanoseconds: 0)

  /// `owntracks/USER/DEVICE[/…]`. The device's own topic has locations and the will.
  static func address(of topic: String, root: String) -> TopicAddress? {
    guard var address = TopicAddress(topic: topic, root: root) else {
      return TopicAddress(topic: "\(topic)/\(MessageKind.location.rawValue)", root: root)
    }
    if address.path == "event" { address.path = MessageKind.region.rawValue }
    return address
  }

  /// Returns nil for types that say nothing of the vehicle that is shown, as configurations, cards and commands.
  static func read(_ address: TopicAddress, _ json: JSONValue) throws(JSONError) -> FleetMessage? {
    guard case .object = json else { throw JSONError("not an object") }
    guard let type = json["_type"]?.string else { throw JSONError("key \"_type\": missing or not a string") }
    switch type {
    case "location": return .message(.location, .location(try OwnTracksLocation(json: json).native))
    case "transition": return .message(.region, event(try OwnTracksTransition(json: json)))
    case "lwt":
      return .message(.status, .status(StatusMessage(state: .offline, time: try time(json), isWill: true)))
    case "status": return .message(.status, .status(try status(json)))
    case "waypoint":
      return .watchedRegions([shape(try OwnTracksWaypoint(json: json))], replacesAll: false)
    case "waypoints":
      var shapes: [RegionShape] = []
      for element in json["waypoints"]?.array ?? [] where shapes.count < RegionShape.largestCount {
        shapes.append(shape(try OwnTracksWaypoint(json: element)))
      }
      return .watchedRegions(shapes, replacesAll: true)
    default: return nil
    }
  }

  private static func event(_ transition: OwnTracksTransition) -> DecodedMessage {
    let entered = transition.event == .enter
    let name = String(transition.description.prefix(80))
    var event = VehicleEvent(summary: "\(entered ? "enter" : "exit") \(name)", time: transition.time)
    event.region = name
    event.entersRegion = entered
    return .event(event, nil)
  }

  /// The agent's carries the native status, which is believed but for its session: wills here have none to compare.
  private static func status(_ json: JSONValue) throws(JSONError) -> StatusMessage {
    let time = try time(json)
    guard let native = json["odograph"], var status = try? StatusMessage(json: native) else {
      return StatusMessage(state: .online, time: time, isWill: false)
    }
    (status.time, status.sessionStart, status.identity) = (time, unknownStart, nil)
    status.isWill = false
    return status
  }

  private static func shape(_ waypoint: OwnTracksWaypoint) -> RegionShape {
    RegionShape(
      identifier: String(waypoint.description.prefix(80)),
      outline: .circle(waypoint.coordinate, radius: max(1, waypoint.radius)))
  }

  private static func time(_ json: JSONValue) throws(JSONError) -> UTCTime {
    guard let seconds = json["tst"]?.double, (0...9e9).contains(seconds) else {
      throw JSONError("key \"tst\": missing or not seconds since 1970")
    }
    return UTCTime(secondsSince1970: seconds)
  }
}

extension StatusMessage {
  fileprivate init(state: State, time: UTCTime, isWill: Bool) {
    self.init(state: state, time: time, sessionStart: UTCTime(nanoseconds: 0), isWill: isWill)
  }
}
