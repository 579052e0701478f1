/// How hard sender and receiver try: the levels of MQTT, section 4.3 of either specification.
public enum QoS: UInt8, Sendable, Comparable, CaseIterable {
  /// Sent once, not acknowledged: lost with the connection.
  case atMostOnce = 0
  /// Sent until acknowledged: may arrive twice.
  case atLeastOnce = 1
  /// Arrives once per session; costs a second round trip.
  case exactlyOnce = 2

  public static func < (a: QoS, b: QoS) -> Bool { a.rawValue < b.rawValue }
}

/// An application message, on its way out or just arrived.
public struct MQTTMessage: Hashable, Sendable {
  /// The topic name: no wildcards, at most 65,535 bytes of UTF-8.
  public var topic: String
  public var payload: [UInt8]
  public var qos: QoS
  /// Outbound: the broker is to keep this as the topic's last value (an empty payload deletes it).
  /// Inbound: this *is* such a kept value, from before the subscription; a ghost for all one knows.
  public var retain: Bool
  /// Only MQTT 5 carries them; under 3.1.1 they are left out silently.
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

  /// A message whose payload is text.
  public init(
    topic: String, text: String, qos: QoS = .atMostOnce, retain: Bool = false,
    properties: MQTTMessageProperties = MQTTMessageProperties()
  ) {
    self.init(topic: topic, payload: Array(text.utf8), qos: qos, retain: retain, properties: properties)
  }
}

/// What MQTT 5 lets travel beside the payload (section 3.3.2.3).
public struct MQTTMessageProperties: Hashable, Sendable {
  /// A pair that the sender attaches; keys may repeat and their order is kept.
  public struct UserProperty: Hashable, Sendable {
    public var key: String
    public var value: String

    public init(key: String, value: String) {
      self.key = key
      self.value = value
    }
  }

  /// The payload's media type, as in `application/json`.
  public var contentType: String?
  /// Seconds after which an undelivered copy is to be dropped; an inbound value is what is left of them.
  /// nil means never.
  public var messageExpiryInterval: UInt32?
  /// Where the answer to this request goes.
  public var responseTopic: String?
  /// What the answer has to carry back unchanged.
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

  /// Whether there is nothing to send.
  public var isEmpty: Bool {
    contentType == nil && messageExpiryInterval == nil && responseTopic == nil && correlationData == nil
      && userProperties.isEmpty
  }
}

extension MQTTMessage {
  /// Bytes of the PUBLISH packet in MQTT 5 (section 3.3).
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

  /// Bytes of a variable byte integer (section 1.5.5).
  private static func lengthBytes(_ value: Int) -> Int {
    value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : 4
  }
}
