public import Telemetry

/// A message that the pipeline decided to send, before it has its place in the durable queue.
public struct MessageDraft: Sendable {
  public var kind: MessageKind
  /// Where it goes when that is no topic of the native contract; nil is the kind's own.
  public var topic: String?
  public var lane: DeliveryLane
  public var retain: Bool
  /// Seconds after which it is worth nothing; nil is for ever.
  public var expirySeconds: Int?
  /// Writes the payload. A durable message is given its identity; a live one nil.
  public var encode: @Sendable (MessageIdentity?) -> [UInt8]

  public var qos: Int { lane == .live ? 0 : 1 }

  public init(
    kind: MessageKind, topic: String? = nil, lane: DeliveryLane, retain: Bool, expirySeconds: Int? = nil,
    encode: @escaping @Sendable (MessageIdentity?) -> [UInt8]
  ) {
    self.kind = kind
    self.topic = topic
    self.lane = lane
    self.retain = retain
    self.expirySeconds = expirySeconds
    self.encode = encode
  }
}

extension MessageDraft {
  func topic(in topics: TopicScheme) -> String { topic ?? topics.topic(kind) }
}
