internal import FoundationEssentials
internal import MQTT
internal import Spatial
internal import Telemetry

/// Writes received messages as JSON lines: `{"topic","qos","retain","payload"}`, the form that the agent prints too.
///
/// A payload that is JSON is passed on as it came. Any other is a string when it is UTF-8 text, and
/// `{"base64":"…"}` when it is not. A line holds no character that a terminal acts upon.
struct MessageLines {
  /// Whole lines, ready to be written.
  private(set) var bytes: [UInt8] = []

  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  mutating func append(_ message: MQTTMessage) {
    append(topic: message.topic, qos: message.qos.rawValue, retain: message.retain, payload: message.payload)
  }

  /// - Parameter received: when it came, for a message out of a recording.
  mutating func append(
    topic: String, qos: UInt8, retain: Bool, payload: [UInt8], received: UTCTime? = nil
  ) {
    append("{")
    if let received {
      append("\"received\":\"")
      bytes.append(contentsOf: received.rfc3339Bytes)
      append("\",")
    }
    append("\"topic\":")
    appendQuoted(topic)
    append(",\"qos\":")
    bytes.append(UInt8(ascii: "0") + min(qos, 9))
    append(retain ? ",\"retain\":true,\"payload\":" : ",\"retain\":false,\"payload\":")
    switch JSONScan(payload) {
    case .valid: bytes.append(contentsOf: payload)
    case .validAfterEscaping: appendEscaping(payload)
    case .invalid: appendForeign(payload)
    }
    append("}\n")
  }

  private mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  private mutating func appendForeign(_ payload: [UInt8]) {
    if let text = String(validating: payload, as: UTF8.self) {
      appendQuoted(text)
    } else {
      append("{\"base64\":\"")
      bytes.append(contentsOf: Data(payload).base64EncodedData())
      append("\"}")
    }
  }

  private mutating func appendQuoted(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      // Nearly all text needs no escape, and is then copied in one go.
      let isPlain = unsafe utf8.allSatisfy {
        $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
      }
      if isPlain {
        unsafe bytes.append(contentsOf: utf8)
      } else {
        unsafe appendEscaped(utf8, quotes: true)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// JSON with its tabs and line breaks as blanks and its control characters, which stand in strings, as escapes.
  private mutating func appendEscaping(_ json: [UInt8]) {
    unsafe json.withUnsafeBufferPointer { unsafe appendEscaped($0, quotes: false) }
  }

  /// - Parameter quotes: true for text, false for JSON, whose quotes and line breaks are its own.
  private mutating func appendEscaped(_ utf8: UnsafeBufferPointer<UInt8>, quotes: Bool) {
    var index = 0
    while index < utf8.count {
      let byte = unsafe utf8[index]
      index += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        if quotes { bytes.append(UInt8(ascii: "\\")) }
        bytes.append(byte)
      case 0x09 where !quotes, 0x0A where !quotes, 0x0D where !quotes: bytes.append(UInt8(ascii: " "))
      case 0..<0x20, 0x7F: appendEscape(UInt16(byte))
      case 0xC2...:
        // UTF-8 that was found well-formed: a first byte tells how many follow.
        let length = byte < 0xE0 ? 1 : (byte < 0xF0 ? 2 : 3)
        let end = min(index + length, utf8.count)
        var value = UInt32(byte) & (0x3F >> UInt32(length))
        for place in index..<end { value = unsafe value << 6 | UInt32(utf8[place] & 0x3F) }
        if let scalar = Unicode.Scalar(value), scalar.isUnseen {
          for unit in scalar.utf16 { appendEscape(unit) }
        } else {
          bytes.append(byte)
          for place in index..<end { unsafe bytes.append(utf8[place]) }
        }
        index = end
      default: bytes.append(byte)
      }
    }
  }

  private mutating func appendEscape(_ unit: UInt16) {
    append("\\u")
    for shift in stride(from: 12, through: 0, by: -4) {
      let digit = UInt8(unit >> UInt16(shift) & 15)
      bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }
}
