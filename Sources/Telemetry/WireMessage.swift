/// What is owed to a message once it is accepted. Lanes come before one another in this order.
public enum DeliveryLane: Int, Hashable, Sendable, CaseIterable, Comparable {
  /// Region transitions and motion events: in order, each one.
  case event
  /// Last-known state: only the newest of a topic matters.
  case state
  /// Tracks and single fixes of a history: each one, after the others.
  case track
  /// Live values worth nothing later: dropped, and counted, when there is no connection.
  case live

  public static func < (a: DeliveryLane, b: DeliveryLane) -> Bool { a.rawValue < b.rawValue }
}

/// One message ready for a broker or for a line of output.
public struct WireMessage: Hashable, Sendable {
  public var topic: String
  /// UTF-8 JSON.
  public var payload: [UInt8]
  /// 0 or 1.
  public var qos: Int
  public var retain: Bool
  /// Seconds after which the broker may drop it undelivered (MQTT 5); nil keeps it.
  public var expirySeconds: Int?

  public init(topic: String, payload: [UInt8], qos: Int, retain: Bool, expirySeconds: Int? = nil) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
    self.expirySeconds = expirySeconds
  }

  /// The content type of every native payload.
  public static let contentType = "application/json"

  /// `{"topic","qos","retain","payload"}` without a line end, the payload as the JSON that it is.
  public var line: [UInt8] {
    JSONWriter.object { json in
      json.field("topic", topic)
      json.field("qos", qos)
      json.field("retain", retain)
      json.key("payload")
      json.raw(payload)
    }
  }
}

/// Identifies a durable message among all that a vehicle ever sent.
public struct MessageIdentity: Hashable, Sendable {
  /// Random, made together with the vehicle's store: a new store starts a new epoch.
  public var epoch: String
  /// Never used twice within an epoch.
  public var seq: UInt64

  public init(epoch: String, seq: UInt64) {
    self.epoch = epoch
    self.seq = seq
  }
}
