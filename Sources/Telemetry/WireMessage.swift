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
