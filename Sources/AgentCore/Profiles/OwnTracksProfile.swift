internal import Spatial
internal import Telemetry

/// Says in the OwnTracks format what the native messages say. Reading them, rather than what they were made from, keeps
/// the two from ever telling different stories.
struct OwnTracksProfile: Sendable {
  let topics: OwnTracksTopics
  private let trackerID: String
  private var battery: Double?
  private var batteryStatus: OwnTracksLocation.BatteryStatus?
  /// Identifier and name of the regions that the vehicle is in, in the order in which it entered.
  private var inside: [(name: String, identifier: String)] = []
  private var lastLocation: LocationMessage?

  init(_ configuration: AgentConfiguration.OwnTracks) throws {
    topics = try OwnTracksTopics(user: configuration.user, device: configuration.device)
    trackerID = configuration.trackerID
  }

  /// The messages that a native one becomes; none for what the format does not know.
  mutating func translate(_ draft: MessageDraft) -> [MessageDraft] {
    switch draft.kind {
    case .location, .track, .region, .status: break
    case .heading, .attitude, .motion: return []
    }
    guard let json = try? JSONValue(parsing: draft.encode(nil)) else { return [] }
    switch draft.kind {
    case .location:
      guard let message = try? LocationMessage(json: json) else { return [] }
      lastLocation = message
      return [location(message, trigger: .moving, lane: draft.lane)]
    case .track:
      guard let message = try? TrackMessage(json: json) else { return [] }
      return message.fixes.map(point)
    case .region: return transition(json)
    case .status: return status(json)
    default: return []
    }
  }

  /// The answer to `reportLocation`; nil before the first fix.
  func report() -> MessageDraft? { lastLocation.map { location($0, trigger: .response, lane: .event) } }

  /// What the broker publishes when a connection ends without a word.
  func lastWill(at time: UTCTime) -> MessageDraft {
    let payload = OwnTracksStatus.lastWill(at: time)
    return MessageDraft(kind: .status, topic: topics.base, lane: .event, retain: false) { _ in payload }
  }

  private func location(
    _ message: LocationMessage, trigger: OwnTracksLocation.Trigger, lane: DeliveryLane
  ) -> MessageDraft {
    var point = OwnTracksLocation(message, trackerID: trackerID, trigger: trigger)
    complete(&point)
    let payload = point.payload
    return MessageDraft(kind: .location, topic: topics.base, lane: lane, retain: true) { _ in payload }
  }

  /// A point of the history. It is not retained: a broker must not take it for the last known one.
  private func point(_ fix: TrackMessage.Fix) -> MessageDraft {
    var point = OwnTracksLocation(time: fix.time, coordinate: fix.coordinate, trackerID: trackerID)
    point.horizontalAccuracy = fix.horizontalAccuracy
    let payload = point.payload
    return MessageDraft(kind: .track, topic: topics.base, lane: .track, retain: false) { _ in payload }
  }

  private func complete(_ point: inout OwnTracksLocation) {
    point.battery = battery
    point.batteryStatus = batteryStatus
    point.regions = inside
  }

  private mutating func transition(_ json: JSONValue) -> [MessageDraft] {
    guard let identifier = json["region"]?.string, let text = json["time"]?.string,
      let time = UTCTime(rfc3339: text), let event = json["event"]?.string,
      let kind: OwnTracksTransition.Event = event == "enter" ? .enter : event == "exit" ? .leave : nil
    else { return [] }
    let name = json["name"]?.string ?? identifier
    inside.removeAll { $0.identifier == identifier }
    if kind == .enter { inside.append((name, identifier)) }
    // With a waypoint's name, the time at which it was made says which one it is. Nothing but 1970 stays the same otherwise.
    let definedAt = json["defined"]?.string.flatMap { UTCTime(rfc3339: $0) }
    var transition = OwnTracksTransition(
      event: kind, time: time, description: name, regionID: identifier,
      waypointTime: definedAt ?? UTCTime(nanoseconds: 0), trackerID: trackerID)
    if let latitude = json["latitude"]?.double, let longitude = json["longitude"]?.double {
      transition.coordinate = Coordinate(latitude: latitude, longitude: longitude)
    }
    transition.horizontalAccuracy = json["horizontalAccuracy"]?.double
    let payload = transition.payload
    return [
      MessageDraft(kind: .region, topic: topics.event, lane: .event, retain: false) { _ in payload }
    ]
  }

  /// Takes from a status what locations carry. The last one before a clean end, which no will follows, becomes the word
  /// that the format has for it.
  private mutating func status(_ json: JSONValue) -> [MessageDraft] {
    if let reported = json["battery"] {
      let level = reported["level"]?.double
      battery = level.map { $0 * 100 }
      batteryStatus = reported["charging"]?.bool.map { isCharging in
        !isCharging ? .unplugged : level ?? 0 >= 0.995 ? .full : .charging
      }
    }
    guard json["state"]?.string == "offline", let time = json["time"]?.string.flatMap(UTCTime.init(rfc3339:))
    else { return [] }
    return [lastWill(at: time)]
  }
}
