package import JSON
public import Spatial
public import VehicleData

/// Payload of `region`: the vehicle entered or left a region, or dwelt in it.
public struct RegionMessage: Hashable, Sendable {
  public var identity: MessageIdentity?
  /// Time of the crossing, interpolated between two fixes. For a late event, the time of the first fix that
  /// showed the crossing.
  public var time: UTCTime
  public var event: RegionEvent.Kind
  /// The region's identifier.
  public var region: String
  /// Name of the region; nil if it has none.
  public var name: String?
  /// Time of the region's creation or last change; nil if unknown.
  public var definedAt: UTCTime?
  /// Position of the crossing, or of the vehicle for a dwell; nil if the event was decoded from a format
  /// without a position.
  public private(set) var coordinate: Coordinate?
  /// Horizontal accuracy in m (68 %); nil if unknown.
  public var horizontalAccuracy: Double?
  /// Probability of the event, 0 ... 1.
  public var confidence: Double
  /// True if the event happened while the agent was not running.
  public var isLate: Bool

  /// - Parameters:
  ///   - time: time of the message if the event has no civil time.
  ///   - place: the event's position with privacy applied; nil if it is private.
  public init(
    identity: MessageIdentity? = nil, time: UTCTime, event: RegionEvent, at place: ShownCoordinate?
  ) {
    self.identity = identity
    self.time = time
    self.event = event.kind
    region = event.identifier
    (name, definedAt) = (event.name, event.definedAt)
    coordinate = place?.coordinate
    horizontalAccuracy = event.horizontalAccuracy
    confidence = event.confidence
    isLate = event.isLate
  }

  /// Converts a transition of the OwnTracks format, in which regions are identified by their names.
  init(_ transition: OwnTracksTransition) {
    time = transition.time
    event = transition.event == .enter ? .enter : .exit
    region = transition.description
    coordinate = transition.coordinate
    horizontalAccuracy = transition.horizontalAccuracy
    confidence = 1
    isLate = false
  }

  /// Encoded payload. The member `late` is missing if it is false.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("event", event.rawValue)
      json.field("region", region)
      json.field("name", name)
      json.field("defined", definedAt?.rfc3339)
      json.field("latitude", coordinate?.latitude, decimals: 8)
      json.field("longitude", coordinate?.longitude, decimals: 8)
      json.field("horizontalAccuracy", horizontalAccuracy, decimals: 2)
      json.field("confidence", confidence, decimals: 6)
      if isLate { json.field("late", true) }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    let name = json["event"]?.string ?? ""
    guard let event = RegionEvent.Kind(rawValue: name) else {
      throw JSONError("key \"event\": \"\(name.prefix(40))\" is not one of enter, exit, dwell")
    }
    guard let region = json["region"]?.string, !region.isEmpty else {
      throw JSONError("key \"region\": missing or not a name")
    }
    (self.event, self.region) = (event, region)
    self.name = json["name"]?.string
    definedAt = json["defined"]?.string.flatMap { UTCTime(rfc3339: $0) }
    coordinate = Coordinate(
      latitude: try json.required("latitude", in: -90...90),
      longitude: try json.required("longitude", in: -180...180))
    horizontalAccuracy = try json.optional("horizontalAccuracy", in: 0...1e8)
    confidence = try json.optional("confidence", in: 0...1) ?? 1
    isLate = json["late"]?.bool ?? false
    identity = json.identity
  }
}

extension RegionMessage: TimedContent {
  static let contract = MessageContract(.region, lane: .events)
}
