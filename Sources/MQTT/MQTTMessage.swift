/// MQTT quality of service (section 4.3 of either specification).
public enum QoS: UInt8, Sendable, Comparable, CaseIterable {
  /// Sent once without acknowledgement: lost with the connection.
  case atMostOnce = 0
  /// Sent until acknowledged: may arrive twice.
  case atLeastOnce = 1
  /// Arrives once per session, at the cost of a second round trip.
  case exactlyOnce = 2

  public static func < (a: QoS, b: QoS) -> Bool { a.rawValue < b.rawValue }
}

/// An application message, outbound or received.
public struct MQTTMessage: Hashable, Sendable {
  /// Topic name: no wildcards, at most 65,535 bytes of UTF-8.
  public var topic: String
  public var payload: [UInt8]
  public var qos: QoS
  /// Outbound: the broker must retain this message as the topic's last value (an empty payload deletes it).
  /// Inbound: this is a retained message from before the subscription; its sender may be gone.
  public var retain: Bool
  /// Properties of MQTT 5; omitted under 3.1.1.
  public var properties: MQTTMessageProperties

  public init(
    topic: String, payload: [UInt8], qos: QoS = .atMostOnce, retain: Bool = false,
    properties: MQTTMessageProperties = MQTTMessageProperties()
  ) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
    self.properties = properties
  }

  /// Creates a message whose payload is text.
  public init(
    topic: String, text: String, qos: QoS = .atMostOnce, retain: Bool = false,
    properties: MQTTMessageProperties = MQTTMessageProperties()
  ) {
    self.init(topic: topic, payload: Array(text.utf8), qos: qos, retain: retain, properties: properties)
  }
}

/// Properties of an MQTT 5 message (section 3.3.2.3).
public struct MQTTMessageProperties: Hashable, Sendable {
  /// A user property. Keys may repeat, and the order is preserved.
  public struct UserProperty: Hashable, Sendable {
    public var key: String
    public var value: String

    public init(key: String, value: String) {
      self.key = key
      self.value = value
    }
  }

  /// Media type of the payload, as in `application/json`.
  public var contentType: String?
  /// Time in s after which an undelivered copy is discarded; nil for never. Inbound values contain the
  /// remaining time.
  public var messageExpiryInterval: UInt32?
  /// Topic for the answer to this request.
  public var responseTopic: String?
  /// Data that the answer must return unchanged.
  public var correlationData: [UInt8]?
  public var userProperties: [UserProperty]

  public init(
    contentType: String? = nil, messageExpiryInterval: UInt32? = nil, responseTopic: String? = nil,
    correlationData: [UInt8]? = nil, userProperties: [UserProperty] = []
  ) {
    self.contentType = contentType
    self.messageExpiryInterval = messageExpiryInterval
    self.responseTopic = responseTopic
    self.correlationData = correlationData
    self.userProperties = userProperties
  }

  /// True if no property is set.
  public var isEmpty: Bool {
    contentType == nil && messageExpiryInterval == nil && responseTopic == nil && correlationData == nil
      && userProperties.isEmpty
  }
}

extension MQTTMessage {
  /// Size in bytes of the PUBLISH packet in MQTT 5 (section 3.3).
  var packetSize: Int {
    var list = 0
    if let text = properties.contentType { list += 3 + text.utf8.count }
    if properties.messageExpiryInterval != nil { list += 5 }
    if let text = properties.responseTopic { list += 3 + text.utf8.count }
    if let data = properties.correlationData { list += 3 + data.count }
    for pair in properties.userProperties { list += 5 + pair.key.utf8.count + pair.value.utf8.count }
    let remaining =
      2 + topic.utf8.count + (qos == .atMostOnce ? 0 : 2) + Self.lengthBytes(list) + list + payload.count
    return 1 + Self.lengthBytes(remaining) + remaining
  }

  /// Returns the size in bytes of a variable byte integer (section 1.5.5).
  private static func lengthBytes(_ value: Int) -> Int {
    value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : 4
  }
}
