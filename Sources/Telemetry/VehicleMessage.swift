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

// MARK: Delivery

extension VehicleMessage {
  /// Kind of the message; nil for an answer to a remote request, whose path has several levels.
  public var kind: MessageKind? { MessageKind(rawValue: path) }

  /// True if the message answers a remote request. Answers always use the native format.
  var isAnswer: Bool {
    switch self {
    case .commandResponse, .configReported, .regionsReported, .beaconsWanted: true
    case .status, .location, .track, .heading, .attitude, .altitude, .motion, .region, .locationEvent,
      .trip, .drivingEvent, .trace, .tracePiece, .vehicle, .scan, .regionsState:
      false
    }
  }

  /// Topic below the vehicle's topic, for example "location" or "config/reported".
  public var path: String {
    switch self {
    case .status: MessageKind.status.rawValue
    case .location: MessageKind.location.rawValue
    case .track: MessageKind.track.rawValue
    case .heading: MessageKind.heading.rawValue
    case .attitude: MessageKind.attitude.rawValue
    case .altitude: MessageKind.altitude.rawValue
    case .motion: MessageKind.motion.rawValue
    case .region: MessageKind.region.rawValue
    case .locationEvent: MessageKind.locationEvent.rawValue
    case .trip: MessageKind.trip.rawValue
    case .drivingEvent: MessageKind.drivingEvent.rawValue
    case .trace: MessageKind.trace.rawValue
    case .tracePiece: TopicScheme.tracePiece
    case .vehicle: MessageKind.vehicle.rawValue
    case .scan: MessageKind.scan.rawValue
    case .commandResponse(let message): TopicScheme.responsePath(command: message.command)
    case .configReported: TopicScheme.configReported
    case .regionsReported: TopicScheme.regionsReported
    case .regionsState: TopicScheme.regionsState
    case .beaconsWanted: TopicScheme.beaconsWanted
    }
  }

  /// The queue in which the message waits for the broker's acknowledgement. Nil for messages that have no
  /// value later; they are sent immediately or dropped.
  public var lane: DeliveryLane? {
    switch self {
    case .motion, .region, .locationEvent, .trip, .drivingEvent, .trace: .events
    case .status, .altitude, .vehicle, .configReported, .regionsReported, .regionsState, .beaconsWanted:
      .state
    case .location, .track: .tracks
    case .scan: .other
    case .tracePiece: .traces
    case .heading, .attitude, .commandResponse: nil
    }
  }

  /// MQTT quality of service.
  public var qos: Int {
    switch self {
    case .heading, .attitude: 0
    default: 1
    }
  }

  /// True if the broker retains the message. An attitude is published only when it changes; retaining it
  /// provides new subscribers with the attitude of a vehicle at rest.
  public var isRetained: Bool {
    switch self {
    case .status, .location, .attitude, .altitude, .vehicle, .configReported, .regionsReported,
      .regionsState, .beaconsWanted:
      true
    case .track, .heading, .motion, .region, .locationEvent, .trip, .drivingEvent, .trace,
      .tracePiece, .scan, .commandResponse:
      false
    }
  }

  /// Time in s after which the message has no value and expires; nil if it never expires.
  public var expiry: Int? {
    switch self {
    case .heading: 60
    default: nil
    }
  }
}

// MARK: The wire

extension VehicleMessage {
  /// True if the payload contains epoch and sequence number.
  public var carriesIdentity: Bool {
    switch self {
    case .heading, .attitude, .scan, .commandResponse: false
    case .status, .location, .track, .altitude, .motion, .region, .locationEvent, .trip, .drivingEvent,
      .trace,
      .tracePiece, .vehicle, .configReported, .regionsReported, .regionsState, .beaconsWanted:
      true
    }
  }

  /// Encodes the message in the native format.
  /// - Parameter identity: identity of a message in a lane; nil for a message that is sent immediately.
  public func encode(identity: MessageIdentity?) -> [UInt8] {
    switch self {
    case .status(var message):
      message.identity = identity
      return message.payload
    case .location(var message):
      message.identity = identity
      return message.payload
    case .track(var message):
      message.identity = identity
      return message.payload
    case .heading(let message): return message.payload
    case .attitude(let message): return message.payload
    case .altitude(var message):
      message.identity = identity
      return message.payload
    case .motion(var message):
      message.identity = identity
      return message.payload
    case .region(var message):
      message.identity = identity
      return message.payload
    case .locationEvent(var message):
      message.identity = identity
      return message.payload
    case .trip(var message):
      message.identity = identity
      return message.payload
    case .drivingEvent(var message):
      message.identity = identity
      return message.payload
    case .trace(var message):
      message.identity = identity
      return message.payload
    case .tracePiece(var message):
      message.identity = identity
      return message.payload
    case .vehicle(var message):
      message.identity = identity
      return message.payload
    case .scan(let message): return message.payload
    case .commandResponse(let message): return message.payload
    case .configReported(var message):
      message.identity = identity
      return message.payload
    case .regionsReported(var message):
      message.identity = identity
      return message.payload
    case .regionsState(var message):
      message.identity = identity
      return message.payload
    case .beaconsWanted(var message):
      message.identity = identity
      return message.payload
    }
  }

  /// Decodes a payload according to its topic.
  /// - Parameter path: topic below the vehicle's topic, like `TopicAddress.path`.
  /// - Returns: nil for an unknown path.
  /// - Throws: `JSONError` that describes the problem with the payload.
  public static func decode(path: String, json: JSONValue) throws(JSONError) -> VehicleMessage? {
    switch path {
    case TopicScheme.configReported: return .configReported(try ConfigReportedMessage(json: json))
    case TopicScheme.regionsReported: return .regionsReported(try RegionsReportedMessage(json: json))
    case TopicScheme.regionsState: return .regionsState(try RegionsStateMessage(json: json))
    case TopicScheme.beaconsWanted: return .beaconsWanted(try BeaconsWantedMessage(json: json))
    case TopicScheme.tracePiece: return .tracePiece(try TracePieceMessage(json: json))
    case _ where TopicScheme.isResponse(path: path):
      return .commandResponse(try CommandResponseMessage(json: json))
    default: break
    }
    switch MessageKind(rawValue: path) {
    case .status: return .status(try StatusMessage(json: json))
    case .location: return .location(try LocationMessage(json: json))
    case .track: return .track(try TrackMessage(json: json))
    case .heading: return .heading(try HeadingMessage(json: json))
    case .attitude: return .attitude(try AttitudeMessage(json: json))
    case .altitude: return .altitude(try AltitudeMessage(json: json))
    case .motion: return .motion(try MotionMessage(json: json))
    case .region: return .region(try RegionMessage(json: json))
    case .locationEvent: return .locationEvent(try LocationEventMessage(json: json))
    case .trip: return .trip(try TripMessage(json: json))
    case .drivingEvent: return .drivingEvent(try DrivingEventMessage(json: json))
    case .trace: return .trace(try TraceMessage(json: json))
    case .vehicle: return .vehicle(try VehicleSignals(json: json))
    case .scan: return .scan(try ScanMessage(json: json))
    case nil: return nil
    }
  }

  /// Decodes a payload according to its topic.
  public static func decode(path: String, payload: [UInt8]) throws(JSONError) -> VehicleMessage? {
    try decode(path: path, json: JSONValue(parsing: payload))
  }

  /// The identity as decoded. Nil before an identity is assigned, and for messages without one, which are
  /// live messages and scans.
  public var identity: MessageIdentity? {
    switch self {
    case .status(let message): message.identity
    case .location(let message): message.identity
    case .track(let message): message.identity
    case .altitude(let message): message.identity
    case .motion(let message): message.identity
    case .region(let message): message.identity
    case .locationEvent(let message): message.identity
    case .trip(let message): message.identity
    case .drivingEvent(let message): message.identity
    case .trace(let message): message.identity
    case .tracePiece(let message): message.identity
    case .vehicle(let message): message.identity
    case .configReported(let message): message.identity
    case .regionsReported(let message): message.identity
    case .regionsState(let message): message.identity
    case .beaconsWanted(let message): message.identity
    case .heading, .attitude, .scan, .commandResponse: nil
    }
  }

  /// Time of the message by the vehicle's clock; nil for a track without points.
  public var time: UTCTime? {
    switch self {
    case .status(let message): message.time
    case .location(let message): message.time
    case .track(let message): message.fixes.first?.time
    case .heading(let message): message.time
    case .attitude(let message): message.time
    case .altitude(let message): message.time
    case .motion(let message): message.time
    case .region(let message): message.time
    case .locationEvent(let message): message.time
    case .trip(let message): message.end.time
    case .drivingEvent(let message): message.time
    case .trace(let message): message.time
    case .tracePiece(let message): message.time
    case .vehicle(let message): message.time
    case .scan(let message): message.scans.first?.time
    case .commandResponse(let message): message.time
    case .configReported(let message): message.time
    case .regionsReported(let message): message.time
    case .regionsState(let message): message.time
    case .beaconsWanted(let message): message.time
    }
  }
}
