package import JSON
public import Spatial
public import VehicleData

/// Payload of `driving/event`: a notable manoeuvre, or an external action on the vehicle.
///
/// Lasting events that require immediate attention are published at their start as `ongoing`, and again with
/// the same number at their end. All other events are published once.
public struct DrivingEventMessage: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    case harshBraking, harshAcceleration, harshCornering, swerve
    case kerb, pothole
    case overSpeed, idling
    /// The vehicle was moved (`tow`) or tilted while parked.
    case tow, tilt
    case supplyLow, unplugged
    /// The receiver's position contradicts the position from sensors and wheels.
    case positionContradicted
    /// A kind unknown to this version.
    case other(String)

    package static let known: [Kind] = [
      .harshBraking, .harshAcceleration, .harshCornering, .swerve, .kerb, .pothole, .overSpeed, .idling, .tow,
      .tilt, .supplyLow, .unplugged, .positionContradicted,
    ]

    /// Name on the wire.
    public var name: String {
      switch self {
      case .harshBraking: "harshBraking"
      case .harshAcceleration: "harshAcceleration"
      case .harshCornering: "harshCornering"
      case .swerve: "swerve"
      case .kerb: "kerb"
      case .pothole: "pothole"
      case .overSpeed: "overSpeed"
      case .idling: "idling"
      case .tow: "tow"
      case .tilt: "tilt"
      case .supplyLow: "supplyLow"
      case .unplugged: "unplugged"
      case .positionContradicted: "positionContradicted"
      case .other(let name): name
      }
    }

    public init(name: String) { self = Self.known.first { $0.name == name } ?? .other(name) }
  }

  public enum Severity: String, Hashable, Sendable, CaseIterable, Comparable {
    case low, medium, high

    public static func < (a: Severity, b: Severity) -> Bool { a.rank < b.rank }

    private var rank: Int {
      switch self {
      case .low: 0
      case .medium: 1
      case .high: 2
      }
    }
  }

  public var identity: MessageIdentity?
  /// Start of the event.
  public var time: UTCTime
  public var event: Kind
  /// Number of the event within the vehicle's journal.
  public var journal: JournalNumber
  /// True if the event was in progress when the message was published.
  public var isOngoing: Bool
  /// Number of the current trip in the same series as the event; nil outside of a trip.
  public var trip: Int64?
  /// Position at the start; nil if unknown or private.
  public private(set) var coordinate: Coordinate?
  /// Horizontal accuracy in m (68 %); nil if unknown.
  public var horizontalAccuracy: Double?
  /// Speed at the start in m/s; nil if unknown.
  public var speed: Double?
  /// Maximum value so far (`peak`), and the limit that it exceeded. Units: m/s² for manoeuvres and shocks,
  /// m/s for speed, radians for tilt, volts for supplies, metres for positions; nil for other kinds.
  public var peak, limit: Double?
  /// Duration so far in s; nil for kinds of events without a duration.
  public var duration: Double?
  public var severity: Severity
  /// Probability of the event, 0 ... 1.
  public var confidence: Double
  /// Identifier of the region whose limit was exceeded; nil if the vehicle's own limit was exceeded.
  public var region: String?

  public init(
    time: UTCTime, event: Kind, journal: JournalNumber, isOngoing: Bool = false, trip: Int64? = nil,
    coordinate: ShownCoordinate? = nil, horizontalAccuracy: Double? = nil, speed: Double? = nil,
    peak: Double? = nil,
    limit: Double? = nil, duration: Double? = nil, severity: Severity = .low, confidence: Double = 1,
    region: String? = nil
  ) {
    (self.time, self.event, self.journal, self.isOngoing, self.trip) = (time, event, journal, isOngoing, trip)
    (self.coordinate, self.horizontalAccuracy, self.speed) = (
      coordinate?.coordinate, horizontalAccuracy, speed
    )
    (self.peak, self.limit, self.duration) = (peak, limit, duration)
    (self.severity, self.confidence, self.region) = (severity, confidence, region)
  }

  /// Encoded payload. `ongoing` is omitted when the event is over.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("event", event.name)
      journal.write(to: &json)
      if isOngoing { json.field("ongoing", true) }
      json.field("trip", trip)
      json.field("latitude", coordinate?.latitude, decimals: 8)
      json.field("longitude", coordinate?.longitude, decimals: 8)
      json.field("horizontalAccuracy", horizontalAccuracy, decimals: 2)
      json.field("speed", speed, decimals: 2)
      json.field("peak", peak, decimals: 3)
      json.field("limit", limit, decimals: 3)
      json.field("duration", duration, decimals: 2)
      json.field("severity", severity.rawValue)
      json.field("confidence", confidence, decimals: 3)
      json.field("region", region)
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    guard let name = json["event"]?.string, !name.isEmpty else {
      throw JSONError("key \"event\": missing or not a string")
    }
    event = Kind(name: name)
    journal = try JournalNumber(json: json)
    isOngoing = json["ongoing"]?.bool ?? false
    trip = json["trip"]?.integer
    coordinate = try Coordinate(optional: json)
    horizontalAccuracy = try json.optional("horizontalAccuracy", in: 0...1e8)
    speed = try json.optional("speed", in: 0...1e4)
    peak = try json.optional("peak", in: -1e9...1e9)
    limit = try json.optional("limit", in: -1e9...1e9)
    duration = try json.optional("duration", in: 0...1e10)
    let word = json["severity"]?.string ?? ""
    guard let severity = Severity(rawValue: word) else {
      throw JSONError("key \"severity\": \"\(word.prefix(40))\" is not one of low, medium, high")
    }
    self.severity = severity
    confidence = try json.optional("confidence", in: 0...1) ?? 1
    region = json["region"]?.string
    identity = json.identity
  }
}

extension DrivingEventMessage: TimedContent {
  static let contract = MessageContract(.drivingEvent, lane: .events)
}
