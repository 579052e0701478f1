package import JSON
internal import Sensors
internal import Spatial
internal import VehicleData

/// Converts a vehicle's messages to the OwnTracks format, as far as the format has equivalents.
package struct OwnTracksFormat: Sendable {
  package let topics: OwnTracksTopics
  private let trackerID: String
  private var battery: Double?
  private var batteryStatus: OwnTracksLocation.BatteryStatus?
  /// Identifier and name of the regions that contain the vehicle, in order of entry.
  private var inside: [(name: String, identifier: String)] = []

  /// - Parameter trackerID: two characters that a map displays.
  package init(topics: OwnTracksTopics, trackerID: String) {
    self.topics = topics
    self.trackerID = trackerID
  }

  /// Returns the messages equivalent to a vehicle's message; empty if there are none.
  package mutating func encode(_ message: VehicleMessage) -> [Publication] {
    switch message {
    case .location(let message): return [location(message, trigger: .moving, lane: .tracks)]
    // The format cannot mark points as corrections of earlier points, so a correction is not sent.
    case .track(let message): return message.isCorrection ? [] : message.fixes.map(point)
    case .region(let message): return transition(message)
    case .status(let message): return status(message)
    default: return []
    }
  }

  /// Topic of the retained position.
  var positionTopic: String { topics.base }

  /// Returns the messages that answer a command of the OwnTracks format.
  package func encode(_ answer: OwnTracksAnswer) -> [Publication] {
    switch answer {
    case .location(let found):
      found.map { [location($0, trigger: .response, lane: .events)] } ?? []
    case .status(let status, let time):
      [
        publication(
          topics.status, OwnTracksStatus.status(at: time, native: status?.payload ?? Array("{}".utf8)))
      ]
    case .dump(let displacement, let keepAlive, let settings):
      [
        publication(
          topics.dump,
          OwnTracksStatus.dump(
            trackerID: trackerID, displacement: displacement, keepAlive: keepAlive, settings: settings))
      ]
    case .waypoint(let waypoint): [publication(topics.waypoint, waypoint.payload, lane: nil)]
    case .waypoints(let waypoints):
      [publication(topics.waypoints, OwnTracksWaypoint.payload(of: waypoints), lane: nil)]
    }
  }

  /// Returns the message that the broker publishes after a lost connection. The agent publishes the same
  /// message before a regular disconnect.
  func lastWill(at time: UTCTime) -> Publication {
    publication(topics.base, OwnTracksStatus.lastWill(at: time))
  }

  private func publication(
    _ topic: String, _ payload: [UInt8], lane: DeliveryLane? = .events, retain: Bool = false
  ) -> Publication {
    Publication(topic: topic, payload: payload, lane: lane, retain: retain)
  }

  private func location(
    _ message: LocationMessage, trigger: OwnTracksLocation.Trigger, lane: DeliveryLane
  ) -> Publication {
    var point = OwnTracksLocation(message, trackerID: trackerID, trigger: trigger)
    point.battery = battery
    point.batteryStatus = batteryStatus
    point.regions = inside
    return publication(topics.base, point.payload, lane: lane, retain: true)
  }

  /// Returns a message for a point of the history. It is not retained, because it must not replace the last
  /// position.
  private func point(_ fix: TrackMessage.Fix) -> Publication {
    var point = OwnTracksLocation(time: fix.time, coordinate: fix.coordinate, trackerID: trackerID)
    point.horizontalAccuracy = fix.horizontalAccuracy
    return publication(topics.base, point.payload, lane: .tracks)
  }

  private mutating func transition(_ message: RegionMessage) -> [Publication] {
    let event: OwnTracksTransition.Event
    switch message.event {
    case .enter: event = .enter
    case .exit: event = .leave
    case .dwell: return []
    }
    let name = message.name ?? message.region
    inside.removeAll { $0.identifier == message.region }
    if event == .enter { inside.append((name, message.region)) }
    // OwnTracks identifies a waypoint by creation time and name. If the creation time is unknown, 1970 is the
    // only constant value.
    var transition = OwnTracksTransition(
      event: event, time: message.time, description: name, regionID: message.region,
      waypointTime: message.definedAt ?? UTCTime(nanoseconds: 0), trackerID: trackerID)
    transition.coordinate = message.coordinate?.rounded
    transition.horizontalAccuracy = message.horizontalAccuracy?.rounded(toPlaces: 2)
    return [publication(topics.event, transition.payload)]
  }

  /// Stores the values of a status that locations contain. The last status before a regular disconnect
  /// becomes an `lwt` message, because the broker publishes no will then.
  private mutating func status(_ message: StatusMessage) -> [Publication] {
    if let reported = message.device?.battery {
      let level = reported.level?.rounded(toPlaces: 3)
      battery = level.map { $0 * 100 }
      batteryStatus = reported.isCharging.map { isCharging in
        !isCharging ? .unplugged : level ?? 0 >= 0.995 ? .full : .charging
      }
    }
    return message.state == .offline ? [lastWill(at: message.time)] : []
  }
}

// MARK: Reading

extension OwnTracksFormat {
  /// A will of the format does not contain the start of its session. With this value every will is accepted,
  /// and the next location ends its effect.
  private static let unknownStart = UTCTime(nanoseconds: 0)

  /// Decodes a payload of the agent or of a phone; nil for message types without a native equivalent.
  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package static func decode(_ json: JSONValue) throws(JSONError) -> VehicleMessage? {
    guard case .object = json else { throw JSONError("not an object") }
    guard let type = json["_type"]?.string else { throw JSONError("key \"_type\": missing or not a string") }
    switch type {
    case "location": return .location(try OwnTracksLocation(json: json).native)
    case "transition": return .region(RegionMessage(try OwnTracksTransition(json: json)))
    case "lwt":
      return .status(
        StatusMessage(
          state: .offline, time: try json.ownTracksTime("tst"), sessionStart: unknownStart, isWill: true))
    case "status": return .status(try status(json))
    default: return nil
    }
  }

  /// Returns a status. The agent's payload contains the native status, which is used without its session,
  /// because wills of this format contain no session to compare.
  private static func status(_ json: JSONValue) throws(JSONError) -> StatusMessage {
    let time = try json.ownTracksTime("tst")
    guard let native = json["odograph"], var status = try? StatusMessage(json: native) else {
      return StatusMessage(state: .online, time: time, sessionStart: unknownStart)
    }
    (status.time, status.sessionStart, status.identity) = (time, unknownStart, nil)
    status.isWill = false
    return status
  }
}

extension OwnTracksLocation {
  /// Converts a native message. Uses the rounded numbers of the native payload, so that both formats contain
  /// the same values.
  init(_ message: LocationMessage, trackerID: String, trigger: Trigger = .moving) {
    let location = message.location
    self.init(
      time: message.time, coordinate: location.coordinate.rounded, trackerID: trackerID, trigger: trigger)
    horizontalAccuracy = location.horizontalAccuracy?.rounded(toPlaces: 2)
    altitude = location.altitude?.rounded(toPlaces: 2)
    verticalAccuracy = location.verticalAccuracy?.rounded(toPlaces: 2)
    speed = location.speed?.rounded(toPlaces: 3)
    course = location.course?.rounded(toPlaces: 2)
    isCoarse = location.positionSource == .coarse
  }
}

extension Coordinate {
  /// The coordinate rounded to a millimetre, as in `location`.
  fileprivate var rounded: Coordinate {
    Coordinate(latitude: latitude.rounded(toPlaces: 8), longitude: longitude.rounded(toPlaces: 8))
  }
}

extension Double {
  /// Returns the number rounded to the decimals of the native format.
  fileprivate func rounded(toPlaces places: Int) -> Double {
    let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
    return (self * scale).rounded() / scale
  }
}

/// Topics of one vehicle in the OwnTracks format: `owntracks/{user}/{device}` and its subtopics.
package struct OwnTracksTopics: Hashable, Sendable {
  package static let root = "owntracks"

  /// Topic of locations and of the will.
  package let base: String

  /// - Throws: `TopicError` for a name that is empty or contains a character with a meaning in MQTT topics.
  package init(user: String, device: String) throws(TopicError) {
    try TopicError.check(name: user, of: "OwnTracks user", separatorAllowed: false)
    try TopicError.check(name: device, of: "OwnTracks device", separatorAllowed: false)
    base = "\(Self.root)/\(user)/\(device)"
  }

  package var event: String { base + "/event" }
  package var waypoint: String { base + "/waypoint" }
  package var waypoints: String { base + "/waypoints" }
  package var status: String { base + "/status" }
  package var dump: String { base + "/dump" }
  /// Topic of commands to the device.
  package var command: String { base + "/cmd" }
}
