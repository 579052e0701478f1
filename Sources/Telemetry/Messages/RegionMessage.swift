public import JSON
public import Positioning
public import Spatial

/// Payload of `region`: the vehicle came into a region, left it, or has stayed in it.
public struct RegionMessage: Hashable, Sendable {
  public var identity: MessageIdentity?
  /// When it happened: the crossing, interpolated between two fixes. Late, the first time at which it was known.
  public var time: UTCTime
  public var event: RegionEvent.Kind
  /// The region's identifier.
  public var region: String
  /// The region's name; nil when it has none.
  public var name: String?
  /// When the region was made or last changed; nil when that is not known.
  public var definedAt: UTCTime?
  /// Where the boundary was crossed, or for a stay the vehicle's position; nil where another format does not say.
  public var coordinate: Coordinate?
  /// Metres at 68 %; nil when unknown.
  public var horizontalAccuracy: Double?
  /// The probability that it happened, 0 ... 1.
  public var confidence: Double
  /// It happened while the agent was not running.
  public var isLate: Bool

  /// - Parameter time: of the event, where it has no civil time of its own.
  public init(identity: MessageIdentity? = nil, time: UTCTime, event: RegionEvent) {
    self.identity = identity
    self.time = time
    self.event = event.kind
    region = event.identifier
    (name, definedAt) = (event.name, event.definedAt)
    coordinate = event.coordinate
    horizontalAccuracy = event.horizontalAccuracy
    confidence = event.confidence
    isLate = event.isLate
  }

  /// What a phone says in the OwnTracks format, which knows a region by its name.
  init(_ transition: OwnTracksTransition) {
    time = transition.time
    event = transition.event == .enter ? .enter : .exit
    region = transition.description
    coordinate = transition.coordinate
    horizontalAccuracy = transition.horizontalAccuracy
    confidence = 1
    isLate = false
  }

  /// The wire form. `late` is left out when it is not.
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
  public init(json: JSONValue) throws(JSONError) {
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
