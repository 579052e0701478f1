public import JSON
public import Spatial

/// What a vehicle says: one case for every message of the contract, as a value, from the decision to say it until a format
/// writes it, and again at whoever reads it.
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

/// The queue in which a message waits for the broker. Lanes come before one another in this order, and within a lane the
/// oldest message comes first. The raw values are on disk.
public enum DeliveryLane: Int, Hashable, Sendable, CaseIterable, Comparable {
  /// Region transitions, trips, driving, motion and location events, and what traces there are: each one, and synced one by one.
  case events = 0
  /// What is: only the newest of a topic matters.
  case state = 1
  /// Where it went, tracks and single locations: each one, after the others.
  case tracks = 2
  /// Scans of radios, for a map that nobody waits for.
  case other = 3
  /// Pieces of traces, large and all to be put together again: nothing else waits for them.
  case traces = 4

  public static func < (a: DeliveryLane, b: DeliveryLane) -> Bool { a.rawValue < b.rawValue }
}

/// Identifies a durable message among all that a vehicle ever sent: no two share both numbers, also not across power cuts
/// and restored backups.
public struct MessageIdentity: Hashable, Sendable {
  /// Random, made together with the vehicle's store: a new store starts a new epoch.
  public var epoch: String
  /// Grows from message to message within an epoch, of all formats; a number that does not come is no proof of a loss.
  public var seq: UInt64

  public init(epoch: String, seq: UInt64) {
    self.epoch = epoch
    self.seq = seq
  }

  /// The text of an epoch: 16 hexadecimal digits of a random number.
  package static func epoch(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

// MARK: Delivery

extension VehicleMessage {
  /// What the last part of its topic says; nil for an answer to a remote request, which has a path of several levels.
  public var kind: MessageKind? { MessageKind(rawValue: path) }

  /// Whether it answers what was asked or wanted from afar, which has one format.
  var isAnswer: Bool {
    switch self {
    case .commandResponse, .configReported, .regionsReported, .beaconsWanted: true
    case .status, .location, .track, .heading, .attitude, .altitude, .motion, .region, .locationEvent,
      .trip, .drivingEvent, .trace, .tracePiece, .vehicle, .scan, .regionsState:
      false
    }
  }

  /// Its topic below that of its vehicle, as in "location" or "config/reported".
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

  /// Where it waits until the broker has acknowledged it; nil for what is worth nothing later, which is sent now or never.
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

  /// The level of MQTT at which it is published.
  public var qos: Int {
    switch self {
    case .heading, .attitude: 0
    default: 1
    }
  }

  /// Whether the broker retains it. An attitude is published when it changes: who subscribes while the vehicle is at rest gets it
  /// from the broker.
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

  /// Seconds after which it is worth nothing; nil is for ever.
  public var expiry: Int? {
    switch self {
    case .heading: 60
    default: nil
    }
  }
}

// MARK: The wire

extension VehicleMessage {
  /// Whether the payload has an epoch and a sequence number.
  public var carriesIdentity: Bool {
    switch self {
    case .heading, .attitude, .scan, .commandResponse: false
    case .status, .location, .track, .altitude, .motion, .region, .locationEvent, .trip, .drivingEvent,
      .trace,
      .tracePiece, .vehicle, .configReported, .regionsReported, .regionsState, .beaconsWanted:
      true
    }
  }

  /// The payload in the native format.
  /// - Parameter identity: of a message that waits in a lane; nil for one that is sent now.
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

  /// Reads a payload as what its topic says it is.
  /// - Parameter path: the topic below the vehicle's, as in `TopicAddress.path`.
  /// - Returns: nil for a path on which no vehicle of this version says anything.
  /// - Throws: `JSONError` naming what is wrong with the payload.
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

  /// Reads a payload as what its topic says it is.
  public static func decode(path: String, payload: [UInt8]) throws(JSONError) -> VehicleMessage? {
    try decode(path: path, json: JSONValue(parsing: payload))
  }

  /// Its number among all that the vehicle ever sent, as it was read; nil before it has one, and for what is sent now and for scans,
  /// which have none.
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

  /// The vehicle's time of it; nil for a track without points.
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
