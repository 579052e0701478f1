internal import Bytes
internal import CMosquitto
internal import Glibc

/// A list of MQTT 5 properties to be passed to the library. The corresponding C type is `mosquitto_property`.
@safe struct PropertyList: ~Copyable {
  /// Head of the list; nil if it is empty.
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

  /// Passes the list to a C function that takes ownership.
  consuming func release() -> OpaquePointer? {
    let list = unsafe head
    unsafe head = nil
    return unsafe list
  }
}

/// A borrowed list of MQTT 5 properties, valid during one callback of the library.
@safe struct PropertyReader {
  private let head: OpaquePointer?

  init(_ head: OpaquePointer?) { unsafe self.head = unsafe head }

  var isEmpty: Bool { unsafe head == nil }

  /// Returns all properties of an application message.
  func messageProperties(_ strings: inout StringCache) -> MQTTMessageProperties {
    var result = MQTTMessageProperties()
    var entry = unsafe head
    while let property = unsafe entry {
      let identifier = unsafe mosquitto_property_identifier(property)
      switch UInt32(identifier) {
      case MQTT_PROP_CONTENT_TYPE.rawValue:
        result.contentType = unsafe Self.string(property, identifier, &strings)
      case MQTT_PROP_RESPONSE_TOPIC.rawValue:
        result.responseTopic = unsafe Self.string(property, identifier, &strings)
      case MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue:
        var value: UInt32 = 0
        if unsafe mosquitto_property_read_int32(property, identifier, &value, false) != nil {
          result.messageExpiryInterval = value
        }
      case MQTT_PROP_CORRELATION_DATA.rawValue:
        result.correlationData = unsafe Self.data(property, identifier)
      case MQTT_PROP_USER_PROPERTY.rawValue:
        if let pair = unsafe Self.pair(property) { result.userProperties.append(pair) }
      default: break
      }
      unsafe entry = unsafe mosquitto_property_next(property)
    }
    return result
  }

  func byte(_ identifier: mqtt5_property) -> UInt8? {
    var value: UInt8 = 0
    let found = unsafe mosquitto_property_read_byte(head, Int32(identifier.rawValue), &value, false)
    return unsafe found == nil ? nil : value
  }

  func integer16(_ identifier: mqtt5_property) -> UInt16? {
    var value: UInt16 = 0
    let found = unsafe mosquitto_property_read_int16(head, Int32(identifier.rawValue), &value, false)
    return unsafe found == nil ? nil : value
  }

  func integer32(_ identifier: mqtt5_property) -> UInt32? {
    var value: UInt32 = 0
    let found = unsafe mosquitto_property_read_int32(head, Int32(identifier.rawValue), &value, false)
    return unsafe found == nil ? nil : value
  }

  func string(_ identifier: mqtt5_property) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard
      unsafe mosquitto_property_read_string(head, Int32(identifier.rawValue), &text, false) != nil,
      let text = unsafe text
    else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  private static func string(
    _ property: OpaquePointer, _ identifier: Int32, _ strings: inout StringCache
  ) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard
      unsafe mosquitto_property_read_string(property, identifier, &text, false) != nil, let text = unsafe text
    else { return nil }
    defer { unsafe free(text) }
    return unsafe strings.string(text)
  }

  private static func data(_ property: OpaquePointer, _ identifier: Int32) -> [UInt8]? {
    var pointer: UnsafeMutableRawPointer?
    var count: UInt16 = 0
    guard unsafe mosquitto_property_read_binary(property, identifier, &pointer, &count, false) != nil else {
      return nil
    }
    defer { unsafe free(pointer) }
    return unsafe Array(UnsafeRawBufferPointer(start: pointer, count: Int(count)))
  }

  private static func pair(_ property: OpaquePointer) -> MQTTMessageProperties.UserProperty? {
    var key: UnsafeMutablePointer<CChar>?
    var value: UnsafeMutablePointer<CChar>?
    let identifier = Int32(MQTT_PROP_USER_PROPERTY.rawValue)
    guard unsafe mosquitto_property_read_string_pair(property, identifier, &key, &value, false) != nil else {
      return nil
    }
    defer {
      unsafe free(key)
      unsafe free(value)
    }
    guard let key = unsafe key, let value = unsafe value else { return nil }
    return unsafe MQTTMessageProperties.UserProperty(key: String(cString: key), value: String(cString: value))
  }
}

/// Converts recurring C strings (topics, content types) into Swift strings without repeated allocation.
/// Direct-mapped: a new string replaces the one in its slot.
struct StringCache {
  private var entries: [String?]

  /// - Parameter capacity: number of slots, a power of two.
  init(capacity: Int = 4096) { entries = Array(repeating: nil, count: capacity) }

  mutating func string(_ pointer: UnsafePointer<CChar>) -> String {
    let count = unsafe strlen(pointer)
    let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: count)
    // Uses a span, because the generic sequence form is not specialized here and calls a function for each
    // byte.
    let hash = unsafe FNV1a.hash64(bytes.bindMemory(to: UInt8.self).span)
    let place = Int(truncatingIfNeeded: hash ^ (hash >> 32)) & (entries.count - 1)
    if let entry = entries[place], entry.utf8.count == count, unsafe Self.equal(entry, bytes) { return entry }
    let string = unsafe String(decoding: bytes, as: UTF8.self)
    entries[place] = string
    return string
  }

  private static func equal(_ entry: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
    var entry = entry
    return entry.withUTF8 { utf8 in
      guard let a = utf8.baseAddress, let b = bytes.baseAddress else { return true }
      return unsafe memcmp(a, b, bytes.count) == 0
    }
  }
}
