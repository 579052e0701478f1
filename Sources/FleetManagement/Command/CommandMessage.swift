package import Fleet
package import JSON
package import MQTT

/// The wire form of a command and of its response.
///
/// Requests have the response topic and correlation data of MQTT 5. The response topic is the same as under
/// MQTT 3.1.1, so that an access list needs only one line. Under 3.1.1 the member `id` of the request
/// identifies the response.
package enum CommandMessage {
  /// Returns a random identifier of a request.
  package static func newIdentifier() -> String { String(UInt64.random(in: 0 ... .max), radix: 16) }

  /// Returns the path below a vehicle on which it responds to a command.
  static func responsePath(of command: String) -> String { "command/\(command)/response" }

  /// Returns a request.
  /// - Parameter seconds: the time after which the broker may discard the request.
  package static func request(
    _ command: String, _ arguments: [String: JSONValue], id: String, to vehicle: VehicleKey, root: String,
    expiringAfter seconds: Double
  ) -> MQTTMessage {
    MQTTMessage(
      topic: vehicle.topic(root: root, "command/\(command)"),
      text: JSONValue.object(arguments.merging(["id": .string(id)]) { $1 }).text, qos: .atLeastOnce,
      properties: MQTTMessageProperties(
        contentType: "application/json", messageExpiryInterval: UInt32(seconds.rounded(.up)),
        responseTopic: vehicle.topic(root: root, responsePath(of: command)), correlationData: Array(id.utf8)))
  }

  /// Returns the response in a message, and the identifier of its request; nil for any other message.
  static func response(in message: MQTTMessage) -> (id: String, json: JSONValue)? {
    guard !message.retain, let json = try? JSONValue(parsing: message.payload) else { return nil }
    let correlation = message.properties.correlationData.map { String(decoding: $0, as: UTF8.self) }
    return (correlation ?? json["id"]?.string).map { ($0, json) }
  }

  /// Returns the response in a message to the request with an identifier; nil for any other message.
  static func response(in message: MQTTMessage, to id: String) -> JSONValue? {
    response(in: message).flatMap { $0.id == id ? $0.json : nil }
  }
}
