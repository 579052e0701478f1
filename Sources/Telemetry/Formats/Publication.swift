internal import JSON

/// A message as one format says it: where it goes, and what is owed to it on the way.
public struct Publication: Hashable, Sendable {
  /// What the payload is made of.
  public enum Content: Hashable, Sendable {
    /// In the native format, whose durable messages carry their identity: written when they have one.
    case native(VehicleMessage)
    /// Written already.
    case payload([UInt8])
  }

  public var topic: String
  public var content: Content
  /// Where it waits until the broker has acknowledged it; nil for what is sent now or never.
  public var lane: DeliveryLane?
  /// 0 or 1.
  public var qos: Int
  public var retain: Bool
  /// Seconds after which the broker may drop it undelivered (MQTT 5); nil keeps it.
  public var expiry: Int?
  /// What whoever asked wants back with the answer (MQTT 5).
  public var correlation: [UInt8]?

  /// What is written already. What waits for the broker is acknowledged by it, what is sent now is not.
  public init(topic: String, payload: [UInt8], lane: DeliveryLane?, retain: Bool) {
    self.topic = topic
    content = .payload(payload)
    self.lane = lane
    qos = lane == nil ? 0 : 1
    self.retain = retain
  }

  /// A message in the native format.
  public init(_ message: VehicleMessage, in topics: TopicScheme) {
    topic = topics.topic(path: message.path)
    content = .native(message)
    lane = message.lane
    qos = message.qos
    retain = message.isRetained
    expiry = message.expiry
    guard case .commandResponse(let response) = message, let address = response.replyTo else { return }
    topic = address.topic ?? topic
    correlation = address.correlation
  }

  /// The media type of every payload.
  public static let contentType = "application/json"

  /// - Parameter identity: of a message that waits in a lane; nil for one that is sent now.
  public func payload(identity: MessageIdentity?) -> [UInt8] {
    switch content {
    case .native(let message): message.encode(identity: identity)
    case .payload(let bytes): bytes
    }
  }

  /// `{"topic","qos","retain","payload"}` without a line end, the payload as the JSON that it is.
  public func line(identity: MessageIdentity?) -> [UInt8] {
    JSONWriter.object { json in
      json.field("topic", topic)
      json.field("qos", qos)
      json.field("retain", retain)
      json.key("payload")
      json.raw(payload(identity: identity))
    }
  }
}

/// Says each message of a vehicle in every format that it speaks.
public struct MessageFormats: Sendable {
  private let topics: TopicScheme
  private let isNative: Bool
  private var ownTracks: OwnTracksFormat?
  private var homeAssistant: HomeAssistantDiscovery?
  /// What goes out before the first message.
  private var announcement: [Publication]

  /// - Parameters:
  ///   - isNative: whether the native format is spoken. What becomes of remote settings and regions, and the answers to
  ///     commands, are told in it in any case.
  ///   - ownTracks: nil when that format is not spoken.
  ///   - homeAssistant: nil when Home Assistant is not told.
  public init(
    topics: TopicScheme, isNative: Bool = true, ownTracks: OwnTracksFormat? = nil,
    homeAssistant: HomeAssistantDiscovery? = nil
  ) {
    self.topics = topics
    self.isNative = isNative
    self.ownTracks = ownTracks
    self.homeAssistant = homeAssistant
    announcement = homeAssistant?.publications ?? []
  }

  /// What a message becomes, in the order in which it is to be sent.
  public mutating func encode(_ message: VehicleMessage) -> [Publication] {
    defer { announcement = [] }
    var publications = announcement + (ownTracks?.encode(message) ?? [])
    publications += homeAssistant?.states(changedBy: message) ?? []
    if isNative || message.isAnswer { publications.append(Publication(message, in: topics)) }
    return publications
  }

  /// The answer to a command of the OwnTracks format; none when that is not spoken.
  public func encode(_ answer: OwnTracksAnswer) -> [Publication] { ownTracks?.encode(answer) ?? [] }

  /// What the broker publishes when a connection ends without a word. One connection has one will: the native one says
  /// more, so it is the other's only where that stands alone.
  /// - Parameter status: the native will.
  public func lastWill(_ status: StatusMessage) -> Publication {
    if !isNative, let ownTracks { return ownTracks.lastWill(at: status.time) }
    return Publication(.status(status), in: topics)
  }

  /// The last status before a link is closed for a while; nil where no format has a word for it.
  public func asleep(_ status: StatusMessage) -> Publication? {
    isNative ? Publication(.status(status), in: topics) : nil
  }
}
