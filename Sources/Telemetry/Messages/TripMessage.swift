public import JSON
public import Spatial

/// Payload of `trip`: where a trip began and ended, how far it was and how, told when it begins, at intervals, and at its end.
///
/// Each message is complete by itself: of those of one trip, the one with the greatest revision says all that is known. Every metre of the
/// odometer belongs to one trip.
public struct TripMessage: Hashable, Sendable {
  public enum Phase: String, Hashable, Sendable, CaseIterable {
    case started, underway, ended
  }

  /// How the vehicle came along.
  public enum Kind: Hashable, Sendable {
    /// By itself.
    case driven
    /// On a ferry, a train or a tow truck.
    case carried
    /// Nobody knows how: while the agent or the device was off.
    case unobserved
    /// One that this version does not know.
    case other(String)

    /// As it is written.
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

  /// An end of the trip.
  public struct End: Hashable, Sendable {
    public var time: UTCTime
    /// Nil where it is not known or nobody may know.
    public var coordinate: Coordinate?
    /// Metres at 68 %; nil when unknown.
    public var horizontalAccuracy: Double?
    /// Metres; nil where others may not know.
    public var odometer: Double?

    public init(
      time: UTCTime, coordinate: Coordinate? = nil, horizontalAccuracy: Double? = nil, odometer: Double? = nil
    ) {
      self.time = time
      self.coordinate = coordinate
      self.horizontalAccuracy = horizontalAccuracy
      self.odometer = odometer
    }
  }

  /// A place on the way.
  public struct Waypoint: Hashable, Sendable {
    /// Kept to the millisecond, rounded down.
    public var time: UTCTime
    public var coordinate: Coordinate

    public init(time: UTCTime, coordinate: Coordinate) {
      self.time = time
      self.coordinate = coordinate
    }
  }

  /// More places than this are not read from one message.
  public static let largestCount = 100_000
  /// Decimals of a degree to which the way is told: a decimetre.
  public static let precision = 6

  public var identity: MessageIdentity?
  /// Which of the vehicle's trips it is.
  public var trip: JournalNumber
  /// From 1; the message with the greatest says what holds.
  public var revision: Int
  public var phase: Phase
  public var kind: Kind
  public var start: End
  /// So far, before it has ended.
  public var end: End
  /// Metres by the odometer, and those of them that were closed, not measured.
  public var distance: Double
  public var estimated: Double
  /// Seconds in motion; standing; and those of the standing with the ignition on, nil where nobody knows of it.
  public var moving, standing: Double
  public var idling: Double?
  /// m/s; nil before there was any.
  public var greatestSpeed, meanSpeed: Double?
  /// Litres and kWh by the vehicle's own word; nil where it has none.
  public var fuel, electricity: Double?
  /// How many driving events of each kind.
  public var events: [String: Int]
  /// As set from afar; nil where nobody did.
  public var driver, purpose: String?
  /// The way, thinned; empty where nobody may know it.
  public private(set) var way: [Waypoint]
  /// Metres: every place that was left out of the way lies within this of it; nil when none was.
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

  /// The wire form.
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
        var encoder = WayEncoder(start: first.time, precision: Self.precision)
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

  /// - Throws: `JSONError` naming the key that is missing, out of range or broken.
  public init(json: JSONValue) throws(JSONError) {
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
    var places = try WayDecoder(
      json: track, start: try track.requiredTime("time"), count: count,
      precision: Int(try track.required("precision", in: 1...8)))
    way.reserveCapacity(count)
    for _ in 0..<count {
      let place = try places.next()
      way.append(Waypoint(time: place.time, coordinate: place.coordinate))
    }
    bound = try track.optional("bound", in: 0...1e8)
  }
}

extension TripMessage.End {
  fileprivate func write(to json: inout JSONWriter) {
    json.field("time", time.rfc3339)
    json.field("latitude", coordinate?.latitude, decimals: 8)
    json.field("longitude", coordinate?.longitude, decimals: 8)
    json.field("horizontalAccuracy", horizontalAccuracy, decimals: 2)
    json.field("odometer", odometer, decimals: 1)
  }

  fileprivate init(json: JSONValue, _ key: String) throws(JSONError) {
    guard let end = json[key] else { throw JSONError("key \"\(key)\": missing") }
    time = try end.requiredTime("time")
    coordinate = try Coordinate(optional: end)
    horizontalAccuracy = try end.optional("horizontalAccuracy", in: 0...1e8)
    odometer = try end.optional("odometer", in: 0...1e11)
  }
}
