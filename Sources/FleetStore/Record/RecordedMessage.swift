internal import Bytes
internal import Fleet
internal import JSON
internal import MQTT
internal import Spatial
internal import Telemetry

/// One message as a row: all of it as it came, and what a query wants to ask for in columns.
struct RecordedMessage: Hashable, Sendable {
  /// By this machine's clock.
  var received: UTCTime
  var topic: String
  var qos: QoS
  /// Kept by the broker from before the subscription.
  var retain: Bool
  var payload: [UInt8]
  /// nil for topics that follow none of the profiles.
  var fleet: String?
  var vehicle: String?
  var kind: String?
  var fields: PayloadFields
  /// What tells this message from others of its topic where it has no `epoch` and `seq`: of what says a time, and of what
  /// the broker had kept. nil where nothing does; such a message is stored as often as it comes.
  var hash: Int64?
  /// The fixes of a track.
  var fixes: [TrackMessage.Fix] = []

  /// Whether the payload can stand in a database as text.
  var isText: Bool

  /// Whether the message says which it is.
  var hasIdentity: Bool { fields.epoch != nil }

  /// Whether it tells one position.
  var isLocation: Bool {
    kind == MessageKind.location.rawValue && fields.latitude != nil && fields.longitude != nil
  }
}

/// Makes rows of messages; remembers the topics it has taken apart.
struct MessageRecording {
  private struct Place {
    var fleet: String?
    var vehicle: String?
    var kind: String?
  }

  private let root: String
  private let profile: MessageProfile
  private var places: [String: Place] = [:]

  /// More topics than this are not remembered at once.
  static let mostTopics = 100_000

  init(root: String, profile: MessageProfile = .native) {
    self.root = root
    self.profile = profile
  }

  mutating func record(_ message: MQTTMessage, at moment: Moment) -> RecordedMessage {
    let place = place(of: message.topic)
    let fields = PayloadFields(message.payload)
    var recorded = RecordedMessage(
      received: moment.time, topic: message.topic, qos: message.qos, retain: message.retain,
      payload: message.payload, fleet: place.fleet, vehicle: place.vehicle, kind: place.kind,
      fields: fields, isText: fields.isJSON || Self.isText(message.payload))
    // An OwnTracks device's will comes on the topic of its locations.
    if recorded.fields.isWill, place.kind == MessageKind.location.rawValue {
      recorded.kind = MessageKind.status.rawValue
    }
    // Numbers are a vehicle's own: without a vehicle they identify nothing.
    if place.vehicle == nil { (recorded.fields.epoch, recorded.fields.seq) = (nil, nil) }
    if !recorded.hasIdentity {
      // What says no time may well be said again, as a switch says "on": to keep it twice after a kill at the wrong
      // moment is better than to take the second for a copy of the first.
      // A topic that no index can hold is stored without being known again.
      let isUnique =
        message.topic.utf8.count <= Self.longestIndexed && (message.retain || recorded.fields.time != nil)
      recorded.hash = isUnique ? Int64(bitPattern: FNV1a.hash64(message.payload)) : nil
    }
    if place.kind == MessageKind.track.rawValue, let json = try? JSONValue(parsing: message.payload),
      let track = try? TrackMessage(json: json)
    {
      recorded.fixes = track.fixes
    }
    return recorded
  }

  /// Bytes: PostgreSQL's B-trees hold 2704 in an entry, and one vehicle is not to hold up all others' messages.
  private static let longestIndexed = 1024

  private mutating func place(of topic: String) -> Place {
    if let known = places[topic] { return known }
    if places.count >= Self.mostTopics { places.removeAll() }
    var place = Place()
    if let address = profile.address(of: topic, root: root)
      ?? MessageProfile.ownTracks.address(of: topic, root: MessageProfile.ownTracks.usualRoot),
      address.fleet.utf8.count + address.vehicle.utf8.count + address.path.utf8.count <= Self.longestIndexed
    {
      place = Place(fleet: address.fleet, vehicle: address.vehicle, kind: address.path)
    }
    places[topic] = place
    return place
  }

  /// Valid UTF-8 without a zero.
  private static func isText(_ bytes: [UInt8]) -> Bool {
    var isPlain = true
    for byte in bytes {
      if byte == 0 { return false }
      if byte >= 0x80 { isPlain = false }
    }
    return isPlain || String(validating: bytes, as: UTF8.self) != nil
  }
}
