internal import Positioning
internal import Spatial
internal import Telemetry

/// A payload read as what its topic says.
enum DecodedMessage: Hashable, Sendable {
  case status(StatusMessage)
  case location(LocationMessage)
  case heading(HeadingMessage)
  case attitude(AttitudeMessage)
  case event(VehicleEvent, MessageIdentity?)

  init(kind: MessageKind, json: JSONValue) throws(JSONError) {
    switch kind {
    case .status: self = .status(try StatusMessage(json: json))
    case .location: self = .location(try LocationMessage(json: json))
    case .heading: self = .heading(try HeadingMessage(json: json))
    case .attitude: self = .attitude(try AttitudeMessage(json: json))
    case .motion: self = try Self.event(json)
    case .region: self = Self.event(try RegionMessage(json: json))
    case .track: throw JSONError("a track is not a single message")
    }
  }

  private static func event(_ message: RegionMessage) -> DecodedMessage {
    let summary = "\(message.event.rawValue) \(message.region)".prefix(80) + (message.isLate ? " (late)" : "")
    var event = VehicleEvent(summary: String(summary), time: message.time)
    event.region = String(message.region.prefix(80))
    event.entersRegion = message.event != .exit
    return .event(event, message.identity)
  }

  /// Motion messages name what happened in `event`.
  private static func event(_ json: JSONValue) throws(JSONError) -> DecodedMessage {
    guard let name = json["event"]?.string, !name.isEmpty else {
      throw JSONError("key \"event\": missing or not a string")
    }
    let time = json["time"]?.string.flatMap { UTCTime(rfc3339: $0) }
    var identity: MessageIdentity?
    if let epoch = json["epoch"]?.string, let seq = json["seq"]?.integer, seq >= 0 {
      identity = MessageIdentity(epoch: epoch, seq: UInt64(seq))
    }
    return .event(VehicleEvent(summary: String(name.prefix(80)), time: time), identity)
  }

  var identity: MessageIdentity? {
    switch self {
    case .status(let message): message.identity
    case .location(let message): message.identity
    case .heading, .attitude: nil
    case .event(_, let identity): identity
    }
  }

  /// The vehicle's time of it; nil when not given.
  var time: UTCTime? {
    switch self {
    case .status(let message): message.time
    case .location(let message): message.time
    case .heading(let message): message.time
    case .attitude(let message): message.time
    case .event(let event, _): event.time
    }
  }

  /// Seconds from the vehicle's clock to ours; nil where the two clocks cannot be meant to agree. A will carries the
  /// time at which it was left with the broker, so it says nothing of delays.
  func delay(at moment: Moment) -> Double? {
    if case .status(let message) = self, message.isWill { return nil }
    guard let time else { return nil }
    let delay = moment.time.seconds(since: time)
    return delay > -MessageStamp.clockTolerance && delay < 86_400 ? delay : nil
  }
}
