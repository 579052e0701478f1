internal import Fleet
internal import FoundationEssentials
internal import JSON
package import MQTT
package import Spatial
internal import Telemetry

/// Writes received messages as JSON lines: `{"topic","qos","retain","payload"}`, the form that the agent prints too.
///
/// A payload that is JSON is passed on as it came. Any other is a string when it is UTF-8 text, and
/// `{"base64":"…"}` when it is not. A line holds no character that a terminal acts upon.
package struct MessageLines {
  package init() {}

  /// Whole lines, ready to be written.
  package private(set) var bytes: [UInt8] = []

  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  package mutating func append(_ message: MQTTMessage) {
    append(topic: message.topic, qos: message.qos.rawValue, retain: message.retain, payload: message.payload)
  }

  /// - Parameter received: when it came, for a message out of a recording.
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
