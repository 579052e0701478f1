internal import Fleet
internal import FoundationEssentials
internal import JSON
package import MQTT
package import Spatial
internal import Telemetry

/// A writer of received messages as JSON lines: `{"topic","qos","retain","payload"}`, the same form that the
/// agent prints.
///
/// A JSON payload is embedded unchanged. Any other payload is a string if it is UTF-8 text, and
/// `{"base64":"…"}` otherwise. Lines contain no terminal control characters.
package struct MessageLines {
  package init() {}

  /// The complete lines.
  package private(set) var bytes: [UInt8] = []

  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  package mutating func append(_ message: MQTTMessage) {
    append(topic: message.topic, qos: message.qos.rawValue, retain: message.retain, payload: message.payload)
  }

  /// Appends a message.
  ///
  /// - Parameter received: the time of arrival, for a recorded message.
  package mutating func append(
    topic: String, qos: UInt8, retain: Bool, payload: [UInt8], received: UTCTime? = nil
  ) {
    append("{")
    if let received {
      append("\"received\":\"")
      bytes.append(contentsOf: received.rfc3339Bytes)
      append("\",")
    }
    append("\"topic\":")
    bytes.appendJSON(quoting: topic)
    append(",\"qos\":")
    bytes.append(UInt8(ascii: "0") + min(qos, 9))
    append(retain ? ",\"retain\":true,\"payload\":" : ",\"retain\":false,\"payload\":")
    switch JSONScan(payload.span) {
    case .valid: bytes.append(contentsOf: payload)
    case .validAfterEscaping: bytes.appendJSON(line: payload.span)
    case .invalid, .stopped: appendForeign(payload)
    }
    append("}\n")
  }

  private mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  private mutating func appendForeign(_ payload: [UInt8]) {
    if let text = String(validating: payload, as: UTF8.self) {
      bytes.appendJSON(quoting: text)
    } else {
      append("{\"base64\":\"")
      bytes.append(contentsOf: Data(payload).base64EncodedData())
      append("\"}")
    }
  }
}
