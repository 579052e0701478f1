internal import JSON

/// A message encoded in one format, with its topic and delivery options.
package struct Publication: Hashable, Sendable {
  /// The content of a payload.
  package enum Content: Hashable, Sendable {
    /// A message in the native format. A durable message is encoded after its identity was assigned, because
    /// the payload contains the identity.
    case native(VehicleMessage)
    /// An encoded payload.
    case payload([UInt8])
  }

  package var topic: String
  package var content: Content
  /// The queue in which the message waits for the broker's acknowledgement; nil for a message that is sent
  /// immediately or dropped.
  package var lane: DeliveryLane?
  /// MQTT quality of service, 0 or 1.
  package var qos: Int
  package var retain: Bool
  /// Time in s after which the broker may discard the message undelivered (MQTT 5); nil for no limit.
  package var expiry: Int?
  /// Correlation data of the request, returned with the answer (MQTT 5).
  package var correlation: [UInt8]?

  /// Creates a publication from an encoded payload. Messages with a lane use QoS 1, messages without a lane
  /// QoS 0.
  package init(topic: String, payload: [UInt8], lane: DeliveryLane?, retain: Bool) {
    self.topic = topic
    content = .payload(payload)
    self.lane = lane
    qos = lane == nil ? 0 : 1
    self.retain = retain
  }

  /// Creates a publication of a message in the native format.
  package init(_ message: VehicleMessage, in topics: TopicScheme) {
    let contract = message.contract
    topic = topics.topic(path: message.path)
    content = .native(message)
    (lane, qos, retain, expiry) = (contract.lane, contract.qos, contract.isRetained, contract.expiry)
    guard case .commandResponse(let response) = message, let address = response.replyTo else { return }
    topic = address.topic ?? topic
    correlation = address.correlation
  }

  /// Media type of every payload.
  package static let contentType = "application/json"

  /// True for a native answer to a command.
  package var isCommandResponse: Bool {
    if case .native(.commandResponse) = content { true } else { false }
  }

  private func isJSON(_ payload: [UInt8]) -> Bool {
    if case .native = content { return true }
    return (try? JSONValue(parsing: payload)) != nil
  }

  /// - Parameter identity: identity of a message in a lane; nil for a message that is sent immediately.
  package func payload(identity: MessageIdentity?) -> [UInt8] {
    switch content {
    case .native(let message): message.encode(identity: identity)
    case .payload(let bytes): bytes
    }
  }

  /// Returns `{"topic","qos","retain","payload"}` without a line end. A JSON payload is embedded; any other, such as a state
  /// of Home Assistant, is a string.
  package func line(identity: MessageIdentity?) -> [UInt8] {
    JSONWriter.object { json in
      json.field("topic", topic)
      json.field("qos", qos)
      json.field("retain", retain)
      json.key("payload")
      let payload = payload(identity: identity)
      if isJSON(payload) { json.raw(payload) } else { json.value(String(decoding: payload, as: UTF8.self)) }
    }
  }
}

/// Encodes a vehicle's messages in all enabled formats.
package struct MessageFormats: Sendable {
  private let topics: TopicScheme
  private let isNative: Bool
  private var ownTracks: OwnTracksFormat?
  private var homeAssistant: HomeAssistantDiscovery?
  /// Publications to send before those of the first message.
  private var announcement: [Publication]

  /// - Parameters:
  ///   - isNative: true if the native format is enabled. Reports about remote settings and regions, and
  ///     answers to commands, always use it.
  ///   - ownTracks: nil if the OwnTracks format is disabled.
  ///   - homeAssistant: nil if Home Assistant discovery is disabled.
  package init(
    topics: TopicScheme, isNative: Bool = true, ownTracks: OwnTracksFormat? = nil,
    homeAssistant: HomeAssistantDiscovery? = nil
  ) {
    self.topics = topics
    self.isNative = isNative
    self.ownTracks = ownTracks
    self.homeAssistant = homeAssistant
    announcement = homeAssistant?.publications ?? []
  }

  /// Removes the entities of an earlier run's discovery before the first message.
  package mutating func remove(_ former: HomeAssistantDiscovery) {
    announcement = former.removals + announcement
  }

  /// The publications that delete the retained position. The next position replaces it.
  package var positionRemovals: [Publication] {
    var topics: [String] = isNative ? [self.topics.topic(.location)] : []
    if let ownTracks { topics.append(ownTracks.positionTopic) }
    // The lane is that of positions, so that an earlier one in the queue is deleted, too, and a later one is not.
    return topics.map { topic in
      Publication(topic: topic, payload: [], lane: LocationMessage.contract.lane, retain: true)
    }
  }

  /// Returns the publications of a message in sending order.
  package mutating func encode(_ message: VehicleMessage) -> [Publication] {
    defer { announcement = [] }
    var publications = announcement + (ownTracks?.encode(message) ?? [])
    publications += homeAssistant?.publications(for: message) ?? []
    if isNative || message.contract.isAnswer { publications.append(Publication(message, in: topics)) }
    return publications
  }

  /// Encodes the answer to a command of the OwnTracks format; empty if the OwnTracks format is disabled.
  package func encode(_ answer: OwnTracksAnswer) -> [Publication] { ownTracks?.encode(answer) ?? [] }

  /// Returns the message that the broker publishes if the connection is lost. A connection has only one will.
  /// The native will contains more information, so the OwnTracks will is used only if the native format is
  /// disabled.
  /// - Parameter status: the native will.
  package func lastWill(_ status: StatusMessage) -> Publication {
    if !isNative, let ownTracks { return ownTracks.lastWill(at: status.time) }
    return Publication(.status(status), in: topics)
  }

  /// Returns a status in the native format; nil if that format is disabled.
  package func nativeStatus(_ status: StatusMessage) -> Publication? {
    isNative ? Publication(.status(status), in: topics) : nil
  }
}
