public import JSON
public import Spatial

/// A message of a vehicle, with one case for each kind of the contract. The vehicle uses this type until a
/// format encodes the message, and every subscriber uses it after decoding.
public enum VehicleMessage: Hashable, Sendable {
  case status(StatusMessage)
  case location(LocationMessage)
  case track(TrackMessage)
  case heading(HeadingMessage)
  case attitude(AttitudeMessage)
  case altitude(AltitudeMessage)
  case motion(MotionMessage)
  case region(RegionMessage)
  case locationEvent(LocationEventMessage)
  case trip(TripMessage)
  case drivingEvent(DrivingEventMessage)
  case trace(TraceMessage)
  case tracePiece(TracePieceMessage)
  case vehicle(VehicleSignals)
  case scan(ScanMessage)
  case commandResponse(CommandResponseMessage)
  case configReported(ConfigReportedMessage)
  case regionsReported(RegionsReportedMessage)
  case regionsState(RegionsStateMessage)
  case beaconsWanted(BeaconsWantedMessage)
}

/// The queue in which a message waits for the broker. Lanes are served in the order of their raw values, and
/// within a lane the oldest message comes first. The raw values are stored on disk.
public enum DeliveryLane: Int, Hashable, Sendable, CaseIterable, Comparable {
  /// Region transitions, trips, driving, motion and location events, and trace announcements. All are
  /// delivered, and each is synced to disk individually.
  case events = 0
  /// Current states: only the newest message of a topic is delivered.
  case state = 1
  /// Tracks and single locations: all are delivered, after the lanes `events` and `state`.
  case tracks = 2
  /// Radio scans for the beacon map, with low urgency.
  case other = 3
  /// Pieces of traces. They are large, and all are delivered, after all other lanes.
  case traces = 4

  public static func < (a: DeliveryLane, b: DeliveryLane) -> Bool { a.rawValue < b.rawValue }
}

/// Unique identity of a durable message among all messages that a vehicle ever sent. No two messages share both
/// numbers, even after power cuts and restored backups.
public struct MessageIdentity: Hashable, Sendable {
  /// Random identifier of the vehicle's store. A new store starts a new epoch.
  public var epoch: String
  /// Sequence number that increases within an epoch over all formats. A missing number does not prove that a
  /// message was lost.
  public var seq: UInt64

  public init(epoch: String, seq: UInt64) {
    self.epoch = epoch
    self.seq = seq
  }

  /// Returns the text of an epoch for a random number: 16 hexadecimal digits.
  package static func epoch(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

// MARK: Content

extension VehicleMessage {
  /// The content, with the description of its kind.
  var content: any MessageContent {
    switch self {
    case .status(let content): content
    case .location(let content): content
    case .track(let content): content
    case .heading(let content): content
    case .attitude(let content): content
    case .altitude(let content): content
    case .motion(let content): content
    case .region(let content): content
    case .locationEvent(let content): content
    case .trip(let content): content
    case .drivingEvent(let content): content
    case .trace(let content): content
    case .tracePiece(let content): content
    case .vehicle(let content): content
    case .scan(let content): content
    case .commandResponse(let content): content
    case .configReported(let content): content
    case .regionsReported(let content): content
    case .regionsState(let content): content
    case .beaconsWanted(let content): content
    }
  }

  private typealias Decoder = @Sendable (JSONValue) throws(JSONError) -> VehicleMessage

  /// The contracts and decoders of all kinds.
  private static let kinds: [(contract: MessageContract, decoder: Decoder)] = [
    kind(VehicleMessage.status),
    kind(VehicleMessage.location),
    kind(VehicleMessage.track),
    kind(VehicleMessage.heading),
    kind(VehicleMessage.attitude),
    kind(VehicleMessage.altitude),
    kind(VehicleMessage.motion),
    kind(VehicleMessage.region),
    kind(VehicleMessage.locationEvent),
    kind(VehicleMessage.trip),
    kind(VehicleMessage.drivingEvent),
    kind(VehicleMessage.trace),
    kind(VehicleMessage.tracePiece),
    kind(VehicleMessage.vehicle),
    kind(VehicleMessage.scan),
    kind(VehicleMessage.commandResponse),
    kind(VehicleMessage.configReported),
    kind(VehicleMessage.regionsReported),
    kind(VehicleMessage.regionsState),
    kind(VehicleMessage.beaconsWanted),
  ]

  /// The decoders of all kinds, by the path of their contract.
  private static let decoders: [String: Decoder] = Dictionary(
    uniqueKeysWithValues: kinds.map { ($0.contract.path, $0.decoder) })

  /// The paths of the messages that the broker retains.
  static let retainedPaths: [String] = kinds.map(\.contract).filter(\.isRetained).map(\.path)

  private static func kind<Content: MessageContent>(
    _ message: @escaping @Sendable (Content) -> VehicleMessage
  ) -> (contract: MessageContract, decoder: Decoder) {
    (Content.contract, { json throws(JSONError) in message(try Content(json: json)) })
  }

  /// Topic and delivery of the message's kind.
  var contract: MessageContract { type(of: content).contract }

  /// Kind of the message; nil for an answer to a remote request, whose path has several levels.
  public var kind: MessageKind? { MessageKind(rawValue: path) }

  /// Topic below the vehicle's topic, for example "location" or "config/reported".
  public var path: String { content.path }

  /// The queue in which the message waits for the broker's acknowledgement. Nil for messages that have no
  /// value later; they are sent immediately or dropped.
  public var lane: DeliveryLane? { contract.lane }

  /// MQTT quality of service.
  public var qos: Int { contract.qos }

  /// True if the broker retains the message.
  public var isRetained: Bool { contract.isRetained }

  /// Time in s after which the message has no value and expires; nil if it never expires.
  public var expiry: Int? { contract.expiry }

  /// True if the payload contains epoch and sequence number.
  public var carriesIdentity: Bool { contract.carriesIdentity }

  /// The identity as decoded. Nil before an identity is assigned, and for messages without one, which are
  /// live messages and scans.
  public var identity: MessageIdentity? { content.identity }

  /// Time of the message by the vehicle's clock; nil for a track without points.
  public var time: UTCTime? { content.messageTime }

  /// Encodes the message in the native format.
  /// - Parameter identity: identity of a message in a lane; nil for a message that is sent immediately.
  public func encode(identity: MessageIdentity?) -> [UInt8] {
    var content = content
    content.identity = identity
    return content.payload
  }

  /// Decodes a payload according to its topic.
  /// - Parameter path: topic below the vehicle's topic, like `TopicAddress.path`.
  /// - Returns: nil for an unknown path.
  /// - Throws: `JSONError` that describes the problem with the payload.
  package static func decode(path: String, json: JSONValue) throws(JSONError) -> VehicleMessage? {
    let path = TopicScheme.isResponse(path: path) ? CommandResponseMessage.contract.path : path
    return try decoders[path]?(json)
  }

  /// Decodes a payload according to its topic.
  public static func decode(path: String, payload: [UInt8]) throws(JSONError) -> VehicleMessage? {
    try decode(path: path, json: JSONValue(parsing: payload))
  }
}
