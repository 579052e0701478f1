internal import Bytes
package import Fleet
internal import JSON
package import MQTT
package import Spatial
package import Telemetry

/// A message as a database row: the original message, and the values that have columns of their own.
package struct RecordedMessage: Hashable, Sendable {
  /// The time of reception by this machine's clock.
  package var received: UTCTime
  package var topic: String
  package var qos: QoS
  /// True if the broker sent the message as a retained one, published before the subscription.
  package var retain: Bool
  package var payload: [UInt8]
  /// Fleet, vehicle and kind; nil for a topic that the wire format does not define.
  package var fleet: String?
  package var vehicle: String?
  package var kind: String?
  package var fields: PayloadFields
  /// A content hash that detects duplicates if `epoch` and `seq` are missing. It is only set for retained
  /// messages, and messages with a time. Nil for other messages, which are stored each time they arrive.
  package var hash: Int64?
  /// The fixes of a track.
  package var fixes: [TrackMessage.Fix] = []

  /// True if the payload can be stored as text.
  package var isText: Bool

  /// True if the message has `epoch` and `seq`.
  package var hasIdentity: Bool { fields.epoch != nil }

  /// True if the message is a `location` with a position.
  package var isLocation: Bool {
    kind == MessageKind.location.rawValue && fields.latitude != nil && fields.longitude != nil
  }
}

/// A converter from messages to rows, with a cache of parsed topics.
package struct MessageRecording {
  private struct VehicleTopic {
    var fleet: String?
    var vehicle: String?
    var kind: String?
    /// True for the topic on which an OwnTracks device publishes messages of all types.
    var isOwnTracksDevice = false
  }

  private let root: String
  private let profile: MessageProfile
  private var places: [String: VehicleTopic] = [:]

  /// The maximum number of cached topics.
  package static let mostTopics = 100_000

  package init(root: String, profile: MessageProfile = .native) {
    self.root = root
    self.profile = profile
  }

  package mutating func record(_ message: MQTTMessage, at moment: Moment) -> RecordedMessage {
    let place = place(of: message.topic)
    let fields = PayloadFields(message.payload)
    var recorded = RecordedMessage(
      received: moment.time, topic: message.topic, qos: message.qos, retain: message.retain,
      payload: message.payload, fleet: place.fleet, vehicle: place.vehicle, kind: place.kind,
      fields: fields, isText: fields.isJSON || Self.isText(message.payload))
    // The type of an OwnTracks message is in its payload. An empty payload clears the retained location, so
    // it remains a location.
    if place.isOwnTracksDevice, !message.payload.isEmpty { recorded.kind = fields.ownTracksKind }
    // Sequence numbers are only unique within a vehicle. A message without a vehicle therefore has none.
    if place.vehicle == nil { (recorded.fields.epoch, recorded.fields.seq) = (nil, nil) }
    if !recorded.hasIdentity {
      // Messages without a time can legitimately be equal, such as "on" from a switch. They get no hash:
      // storing one twice after a crash is better than losing one. A topic that is too long for an index gets
      // no hash either.
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

  /// The maximum length of a topic in bytes. Entries of PostgreSQL's B-trees have at most 2704 bytes: a
  /// longer topic of one vehicle would make the batch fail for all vehicles.
  private static let longestIndexed = 1024

  private mutating func place(of topic: String) -> VehicleTopic {
    if let known = places[topic] { return known }
    if places.count >= Self.mostTopics { places.removeAll() }
    var place = VehicleTopic()
    let own = profile.address(of: topic, root: root)
    if let address = own
      ?? MessageProfile.ownTracks.address(of: topic, root: MessageProfile.ownTracks.usualRoot),
      address.fleet.utf8.count + address.vehicle.utf8.count + address.path.utf8.count <= Self.longestIndexed
    {
      place = VehicleTopic(fleet: address.fleet, vehicle: address.vehicle, kind: address.path)
      place.isOwnTracksDevice =
        (own == nil || profile == .ownTracks) && address.path == MessageKind.location.rawValue
    }
    places[topic] = place
    return place
  }

  /// Returns whether bytes are valid UTF-8 without NUL.
  private static func isText(_ bytes: [UInt8]) -> Bool {
    var isPlain = true
    for byte in bytes {
      if byte == 0 { return false }
      if byte >= 0x80 { isPlain = false }
    }
    return isPlain || String(validating: bytes, as: UTF8.self) != nil
  }
}
