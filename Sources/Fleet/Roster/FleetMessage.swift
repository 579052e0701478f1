internal import JSON
internal import Spatial
package import Telemetry
internal import VehicleData

/// A message on a vehicle's topics, in the native or the OwnTracks format.
package enum FleetMessage: Hashable, Sendable {
  /// A message that a vehicle publishes.
  case message(VehicleMessage)
  /// A message that is not displayed, for example a batch of earlier positions (`track`). Its sequence number
  /// counts, but its content is not decoded.
  case counted(MessageIdentity?)
  /// The regions that an operator has requested the vehicle to monitor.
  case wantedRegions([RegionShape])
  /// The regions that an OwnTracks device reports to monitor: a single region, or all of them.
  case watchedRegions([RegionShape], replacesAll: Bool)

  /// Decodes a payload of the native format; nil for kinds that are not displayed.
  /// - Parameters:
  ///   - json: the payload.
  ///   - path: the topic levels below the vehicle's topic.
  init?(native json: JSONValue, path: String) throws(JSONError) {
    guard case .object = json else { throw JSONError("not an object") }
    switch path {
    case MessageKind.track.rawValue, TopicScheme.configReported, TopicScheme.tracePiece,
      TopicScheme.beaconsWanted:
      self = .counted(json.identity)
    case MessageKind.trip.rawValue:
      // The track of a trip can be long, and is not displayed.
      guard case .object(var members) = json else { return nil }
      members["way"] = nil
      var trip = try TripMessage(json: .object(members))
      trip.shorten()
      self = .message(.trip(trip))
    case MessageKind.drivingEvent.rawValue:
      var event = try DrivingEventMessage(json: json)
      event.shorten()
      self = .message(.drivingEvent(event))
    case TopicScheme.regionsDesired:
      guard json["features"] != nil else { return nil }
      self = .wantedRegions(RegionShape.regions(inGeoJSON: json))
    default:
      guard let message = try VehicleMessage.decode(path: path, json: json) else { return nil }
      self = .message(message)
    }
  }

  /// Decodes a payload of the OwnTracks format, from the agent or a phone. Returns nil for types without
  /// vehicle data, such as configurations, cards and commands.
  /// - Parameters:
  ///   - json: the payload.
  ///   - path: the topic levels below the device's topic. A position is only valid on the device's own topic.
  init?(ownTracks json: JSONValue, path: String) throws(JSONError) {
    switch json["_type"]?.string {
    case "location" where path != MessageKind.location.rawValue: return nil
    case "waypoint":
      self = .watchedRegions([RegionShape(try OwnTracksWaypoint(json: json))], replacesAll: false)
    case "waypoints":
      var shapes: [RegionShape] = []
      for element in json["waypoints"]?.array ?? [] where shapes.count < RegionShape.largestCount {
        shapes.append(RegionShape(try OwnTracksWaypoint(json: element)))
      }
      self = .watchedRegions(shapes, replacesAll: true)
    default:
      guard let message = try OwnTracksFormat.decode(json) else { return nil }
      self = .message(message)
    }
  }

  /// A state of a vehicle that each message about it replaces completely.
  package enum State: Hashable, Sendable, CaseIterable {
    case status, location, regions
  }

  /// The state that the message reports; nil for an event, and for a state that no alert rule uses.
  package var state: State? {
    switch self {
    case .message(.status): .status
    case .message(.location): .location
    case .message(.regionsState): .regions
    default: nil
    }
  }

  /// The message's epoch and sequence number; nil if it has none.
  var identity: MessageIdentity? {
    switch self {
    case .message(let message): message.identity
    case .counted(let identity): identity
    case .wantedRegions, .watchedRegions: nil
    }
  }
}

extension TopicAddress {
  /// Parses `owntracks/USER/DEVICE[/…]`. The device's own topic, without further levels, has locations and
  /// the will.
  init?(ownTracks topic: String, root: String) {
    guard let address = TopicAddress(topic: topic, root: root) else {
      self.init(topic: "\(topic)/\(MessageKind.location.rawValue)", root: root)
      return
    }
    self = address
    if path == "event" { path = MessageKind.region.rawValue }
  }
}

extension VehicleMessage {
  /// Returns the delay of the message in s, by the vehicle's and the local clock. Nil if the clocks differ
  /// too much, and for a will, whose time is the start of its session.
  func delay(at moment: Moment) -> Double? {
    if case .status(let message) = self, message.isWill { return nil }
    guard let time else { return nil }
    let delay = moment.time.seconds(since: time)
    return delay > -MessageStamp.clockTolerance && delay < 86_400 ? delay : nil
  }
}

extension VehicleEvent {
  init(_ message: MotionMessage) {
    self.init(summary: String(message.event.name.prefix(80)), time: message.time)
  }

  init(_ message: DrivingEventMessage) {
    var summary = String(message.event.name.prefix(80))
    if message.isOngoing { summary += " (ongoing)" }
    self.init(summary: summary, time: message.time)
  }

  init(_ message: LocationEventMessage) {
    let name = message.event == .deferralEnded ? "deferral ended" : "location \(message.event.name)"
    let isProblem = message.error != nil
    let summary = isProblem ? "\(name): \(message.reason ?? message.error ?? "?")" : name
    self.init(summary: summary.abbreviated(to: 160), time: message.time)
    remedy = isProblem ? message.remedy?.abbreviated(to: 300) : nil
  }

  init(_ message: RegionMessage) {
    let summary = "\(message.event.rawValue) \(message.region)".prefix(80) + (message.isLate ? " (late)" : "")
    self.init(summary: String(summary), time: message.time)
    region = String(message.region.prefix(80))
    entersRegion = message.event != .exit
  }
}

extension TripMessage {
  /// Truncates texts to the length that is displayed, so that a publisher cannot exhaust the memory.
  mutating func shorten() {
    driver = driver.map { String($0.prefix(80)) }
    purpose = purpose.map { String($0.prefix(80)) }
    if case .other(let name) = kind { kind = .other(String(name.prefix(80))) }
    guard events.count > 32 || events.keys.contains(where: { $0.utf8.count > 80 }) else { return }
    let shown = events.sorted { $0.key < $1.key }.prefix(32).map { (String($0.key.prefix(80)), $0.value) }
    events = Dictionary(shown) { first, _ in first }
  }

  /// Returns whether this message is about a later trip, or a later revision of the same trip. Trips of
  /// different series are compared by their start.
  func isNewer(than other: TripMessage?) -> Bool {
    guard let other else { return true }
    guard trip.series == other.trip.series else { return start.time > other.start.time }
    return (trip.number, revision) > (other.trip.number, other.revision)
  }
}

extension DrivingEventMessage {
  /// Truncates texts to the length that is displayed.
  mutating func shorten() {
    if case .other(let name) = event { event = .other(String(name.prefix(80))) }
    region = region.map { String($0.prefix(80)) }
  }

  /// Returns whether this message is about a later event, or updates the same event. Events of different
  /// series are compared by time.
  func isNewer(than other: DrivingEventMessage?) -> Bool {
    guard let other else { return true }
    guard journal.series == other.journal.series else { return time > other.time }
    return journal.number == other.journal.number ? other.isOngoing : journal.number > other.journal.number
  }
}

extension RegionShape {
  fileprivate init(_ waypoint: OwnTracksWaypoint) {
    self.init(
      identifier: String(waypoint.description.prefix(80)),
      outline: .circle(waypoint.coordinate, radius: max(1, waypoint.radius)))
  }
}

extension VehicleRecord {
  /// Returns the last message about a state; nil before the first.
  package func message(about state: FleetMessage.State) -> FleetMessage? {
    switch state {
    case .status: status.map { .message(.status($0.message)) }
    case .location: location.map { .message(.location($0.message)) }
    case .regions: regionStates.map { .message(.regionsState($0)) }
    }
  }

  /// Applies a vehicle's report of all region states, unless it is a duplicate or outdated.
  private mutating func apply(_ states: RegionsStateMessage) -> Roster.Outcome {
    if let known = regionStates?.identity, let new = states.identity {
      if known == new { return .duplicate }
      if known.epoch == new.epoch, new.seq < known.seq { return .outdated }
      if formerEpochs.contains(new.epoch) { return .outdated }
    }
    regionStates = states
    insideRegions = Array(
      states.regions.filter { $0.state == .inside }.map { String($0.identifier.prefix(80)) }.prefix(32))
    return .applied
  }

  /// Applies a message that does not change the vehicle's row in the table: regions, which are drawn on the
  /// map.
  mutating func apply(aside message: FleetMessage) -> Roster.Outcome {
    switch message {
    // A report about regions in the vehicle's own file does not answer the operator's request.
    case .message(.regionsReported(let report)) where report.source == .file: return .ignored
    case .message(.regionsReported(let report)):
      acceptedRegions = Set(report.accepted.prefix(RegionShape.largestCount))
    case .message(.regionsState(let states)): return apply(states)
    case .message, .counted: return .ignored
    case .wantedRegions(let shapes): wantedRegions = shapes
    case .watchedRegions(let shapes, let replacesAll):
      let names = Set(shapes.map(\.identifier))
      let others = replacesAll ? [] : wantedRegions.filter { !names.contains($0.identifier) }
      wantedRegions = Array((others + shapes).prefix(RegionShape.largestCount))
      acceptedRegions = Set(wantedRegions.map(\.identifier))
    }
    return .applied
  }
}
