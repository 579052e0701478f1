package import JSON
public import Spatial
public import VehicleData

/// Payload of `trip`: start, end, distance and statistics of a trip, published at its start, at intervals,
/// and at its end.
///
/// Each message describes the whole trip so far. Of the messages of one trip, the one with the highest
/// revision is valid. Every metre of the odometer belongs to exactly one trip.
public struct TripMessage: Hashable, Sendable {
  public enum Phase: String, Hashable, Sendable, CaseIterable {
    case started, underway, ended
  }

  /// The means of movement.
  public enum Kind: Hashable, Sendable {
    /// Driven under its own power.
    case driven
    /// Carried by a ferry, a train or a tow truck.
    case carried
    /// Unobserved, because the agent or the device was off.
    case unobserved
    /// A kind unknown to this version.
    case other(String)

    /// Name on the wire.
    public var name: String {
      switch self {
      case .driven: "driven"
      case .carried: "carried"
      case .unobserved: "unobserved"
      case .other(let name): name
      }
    }

    init(name: String) {
      let known: [Kind] = [.driven, .carried, .unobserved]
      self = known.first { $0.name == name } ?? .other(name)
    }
  }

  /// Start or end of the trip.
  public struct End: Hashable, Sendable {
    public var time: UTCTime
    /// Position; nil if unknown or private.
    public private(set) var coordinate: Coordinate?
    /// Horizontal accuracy in m (68 %); nil if unknown.
    public var horizontalAccuracy: Double?
    /// Odometer in m; nil if private.
    public var odometer: Double?

    public init(
      time: UTCTime, coordinate: ShownCoordinate? = nil, horizontalAccuracy: Double? = nil,
      odometer: Double? = nil
    ) {
      self.time = time
      self.coordinate = coordinate?.coordinate
      self.horizontalAccuracy = horizontalAccuracy
      self.odometer = odometer
    }
  }

  /// A position on the route.
  public struct Waypoint: Hashable, Sendable {
    /// Time in milliseconds, rounded down.
    public var time: UTCTime
    public private(set) var coordinate: Coordinate

    public init(time: UTCTime, coordinate: ShownCoordinate) {
      self.time = time
      self.coordinate = coordinate.coordinate
    }
  }

  /// Maximum number of positions read from one message.
  public static let largestCount = 100_000
  /// Decimals of a degree in the route: six resolve a decimetre.
  public static let precision = 6

  public var identity: MessageIdentity?
  /// Number of the trip within the vehicle's journal.
  public var trip: JournalNumber
  /// Revision of the message, from 1. Of the messages of one trip, the one with the highest revision is
  /// valid.
  public var revision: Int
  public var phase: Phase
  public var kind: Kind
  public var start: End
  /// End of the trip; the latest state while the trip is in progress.
  public var end: End
  /// Distance in m by the odometer.
  public var distance: Double
  /// Part of the distance in m that was estimated for gaps.
  public var estimated: Double
  /// Time in s in motion (`moving`) and at rest (`standing`).
  public var moving, standing: Double
  /// Part of `standing` in s with the ignition on; nil if the state of the ignition is unknown.
  public var idling: Double?
  /// Greatest speed, and mean speed in motion, in m/s; nil if no speed is available yet.
  public var greatestSpeed, meanSpeed: Double?
  /// Consumption of fuel in litres and of electricity in kWh, as reported by the vehicle; nil if it does not
  /// report the value.
  public var fuel, electricity: Double?
  /// Number of driving events of each kind.
  public var events: [String: Int]
  /// Driver and purpose of the trip, as set remotely; nil if not set.
  public var driver, purpose: String?
  /// The thinned route; empty if private.
  public private(set) var way: [Waypoint]
  /// Error bound in m: every omitted position is within this distance of the route; nil if no position was
  /// omitted.
  public var bound: Double?

  public init(
    trip: JournalNumber, revision: Int, phase: Phase, kind: Kind, start: End, end: End, distance: Double,
    estimated: Double = 0, moving: Double = 0, standing: Double = 0, idling: Double? = nil,
    greatestSpeed: Double? = nil, meanSpeed: Double? = nil, fuel: Double? = nil, electricity: Double? = nil,
    events: [String: Int] = [:], driver: String? = nil, purpose: String? = nil, way: [Waypoint] = [],
    bound: Double? = nil
  ) {
    (self.trip, self.revision, self.phase, self.kind) = (trip, revision, phase, kind)
    (self.start, self.end) = (start, end)
    (self.distance, self.estimated) = (distance, estimated)
    (self.moving, self.standing, self.idling) = (moving, standing, idling)
    (self.greatestSpeed, self.meanSpeed) = (greatestSpeed, meanSpeed)
    (self.fuel, self.electricity) = (fuel, electricity)
    (self.events, self.driver, self.purpose) = (events, driver, purpose)
    self.way = way.filter(\.coordinate.isValid)
    self.bound = bound
  }

  /// Encoded payload.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", end.time.rfc3339)
      trip.write(to: &json)
      json.field("revision", revision)
      json.field("phase", phase.rawValue)
      json.field("kind", kind.name)
      json.field("start") { start.write(to: &$0) }
      json.field("end") { end.write(to: &$0) }
      json.field("distance", distance, decimals: 1)
      if estimated > 0 { json.field("estimated", estimated, decimals: 1) }
      json.field("moving", moving, decimals: 1)
      json.field("standing", standing, decimals: 1)
      json.field("idling", idling, decimals: 1)
      json.field("greatestSpeed", greatestSpeed, decimals: 2)
      json.field("meanSpeed", meanSpeed, decimals: 2)
      json.field("fuel", fuel, decimals: 3)
      json.field("electricity", electricity, decimals: 3)
      if !events.isEmpty {
        json.field("events") { json in
          for (name, count) in events.sorted(by: { $0.key < $1.key }) {
            json.key(name)
            json.value(count)
          }
        }
      }
      json.field("driver", driver)
      json.field("purpose", purpose)
      if let first = way.first {
        var encoder = TrackEncoder(start: first.time, precision: Self.precision)
        for place in way { encoder.append(place.coordinate, at: place.time) }
        json.field("way") { json in
          json.field("time", encoder.start.rfc3339)
          json.field("count", way.count)
          json.field("precision", Self.precision)
          json.field("bound", bound, decimals: 3)
          encoder.write(to: &json)
        }
      }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing, out of range or invalid.
  package init(json: JSONValue) throws(JSONError) {
    trip = try JournalNumber(json: json)
    revision = Int(try json.required("revision", in: 1...1e9))
    let name = json["phase"]?.string ?? ""
    guard let phase = Phase(rawValue: name) else {
      throw JSONError("key \"phase\": \"\(name.prefix(40))\" is not one of started, underway, ended")
    }
    guard let kind = json["kind"]?.string, !kind.isEmpty else {
      throw JSONError("key \"kind\": missing or not a string")
    }
    (self.phase, self.kind) = (phase, Kind(name: kind))
    start = try End(json: json, "start")
    end = try End(json: json, "end")
    guard start.time <= end.time else { throw JSONError("key \"end\": before the start") }
    distance = try json.required("distance", in: 0...1e11)
    estimated = try json.optional("estimated", in: 0...1e11) ?? 0
    moving = try json.required("moving", in: 0...1e10)
    standing = try json.required("standing", in: 0...1e10)
    idling = try json.optional("idling", in: 0...1e10)
    greatestSpeed = try json.optional("greatestSpeed", in: 0...1e4)
    meanSpeed = try json.optional("meanSpeed", in: 0...1e4)
    fuel = try json.optional("fuel", in: 0...1e9)
    electricity = try json.optional("electricity", in: -1e9...1e9)
    events = [:]
    if case .object(let counts)? = json["events"] {
      events = counts.compactMapValues { $0.integer.flatMap { $0 > 0 ? Int(clamping: $0) : nil } }
    }
    driver = json["driver"]?.string
    purpose = json["purpose"]?.string
    identity = json.identity
    way = []
    guard let track = json["way"] else { return }
    let count = Int(try track.required("count", in: 0...Double(Self.largestCount)))
    var places = try TrackDecoder(
      json: track, start: try track.requiredTime("time"), count: count,
      precision: Int(try track.required("precision", in: 1...8)))
    way.reserveCapacity(count)
    for _ in 0..<count {
      let place = try places.next()
      way.append(Waypoint(time: place.time, coordinate: PrivacyPolicy.unrestricted(place.coordinate)))
    }
    bound = try track.optional("bound", in: 0...1e8)
  }
}

extension TripMessage: MessageContent {
  static let contract = MessageContract(.trip, lane: .events)
  var messageTime: UTCTime? { end.time }
}

extension TripMessage.End {
  fileprivate func write(to json: inout JSONWriter) {
    json.field("time", time.rfc3339)
    json.field("latitude", coordinate?.latitude, decimals: 8)
    json.field("longitude", coordinate?.longitude, decimals: 8)
    json.field("horizontalAccuracy", horizontalAccuracy, decimals: 2)
    json.field("odometer", odometer.map(OdometerReading.metres))
  }

  fileprivate init(json: JSONValue, _ key: String) throws(JSONError) {
    guard let end = json[key] else { throw JSONError("key \"\(key)\": missing") }
    time = try end.requiredTime("time")
    coordinate = try Coordinate(optional: end)
    horizontalAccuracy = try end.optional("horizontalAccuracy", in: 0...1e8)
    odometer = try end.optional("odometer", in: 0...1e11)
  }
}
