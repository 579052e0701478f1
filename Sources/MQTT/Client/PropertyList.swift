internal import CMosquitto

/// A list of MQTT 5 properties on its way to the library. The corresponding C type is `mosquitto_property`.
@safe struct PropertyList: ~Copyable {
  /// nil is the empty list.
  private(set) var head: OpaquePointer?

  init() {}

  init(_ properties: MQTTMessageProperties) {
    if let text = properties.contentType { add(MQTT_PROP_CONTENT_TYPE, text) }
    if let seconds = properties.messageExpiryInterval { add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, seconds) }
    if let topic = properties.responseTopic { add(MQTT_PROP_RESPONSE_TOPIC, topic) }
    if let data = properties.correlationData {
      unsafe data.withUnsafeBufferPointer { bytes in
        _ = unsafe mosquitto_property_add_binary(
          &head, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), bytes.baseAddress, UInt16(clamping: bytes.count))
      }
    }
    for pair in properties.userProperties {
      _ = unsafe mosquitto_property_add_string_pair(
        &head, Int32(MQTT_PROP_USER_PROPERTY.rawValue), pair.key, pair.value)
    }
  }

  deinit {
    var list = unsafe head
    unsafe mosquitto_property_free_all(&list)
  }

  mutating func add(_ identifier: mqtt5_property, _ value: UInt32) {
    _ = unsafe mosquitto_property_add_int32(&head, Int32(identifier.rawValue), value)
  }

  mutating func add(_ identifier: mqtt5_property, _ value: UInt16) {
    _ = unsafe mosquitto_property_add_int16(&head, Int32(identifier.rawValue), value)
  }

  mutating func add(_ identifier: mqtt5_property, _ value: String) {
    _ = unsafe mosquitto_property_add_string(&head, Int32(identifier.rawValue), value)
  }

  /// Gives the list to a C function that takes ownership of it.
  consuming func release() -> OpaquePointer? {
    let list = unsafe head
    unsafe head = nil
    return unsafe list
  }
}
