/// How RabbitMQ's MQTT plugin writes a topic for a topic exchange: dots between the levels where MQTT has slashes, `*` for
/// `+`. A dot within a level comes out as one more level, so names that hold dots cannot be told apart there. Pure.
package enum RoutingKey {
  /// Bytes that a routing key may have (AMQP 0-9-1, short string).
  package static let longest = 255

  /// The pattern that a queue is bound with for an MQTT filter.
  /// - Throws: `AMQPError` for what a topic exchange cannot select.
  package static func pattern(for filter: String) throws(AMQPError) -> String {
    func wrong(_ cause: String) -> AMQPError {
      AMQPError(operation: "bind to", object: "\"\(filter.prefix(100))\"", cause: cause)
    }
    var words: [Substring] = []
    let levels = filter.split(separator: "/", omittingEmptySubsequences: false)
    for (place, level) in levels.enumerated() {
      switch level {
      case "+": words.append("*")
      case "#":
        guard place == levels.count - 1 else { throw wrong("\"#\" stands at the end only") }
        words.append("#")
      case _ where level.contains("."):
        throw wrong(
          "RabbitMQ's MQTT plugin makes a dot of each \"/\", so \"\(level.prefix(60))\" is two levels there; give names without dots"
        )
      case _ where level.contains(where: { "+#*".contains($0) }):
        throw wrong(
          "\"\(level.prefix(60))\" is no level of a topic: + and # stand alone, and * is a wildcard at RabbitMQ"
        )
      default: words.append(level)
      }
    }
    let pattern = words.joined(separator: ".")
    guard !filter.isEmpty, pattern.utf8.count <= longest else {
      throw wrong("a routing key has 1 to \(longest) bytes")
    }
    return pattern
  }

  /// The topic that a message was published under, as far as its routing key tells. A zero byte, which MQTT forbids and the plugin
  /// takes, comes out as U+FFFD: no database keeps it in a text, and the message would come again for ever.
  package static func topic(of key: String) -> String {
    var topic: [UInt8] = []
    topic.reserveCapacity(key.utf8.count)
    for byte in key.utf8 {
      switch byte {
      case UInt8(ascii: "."): topic.append(UInt8(ascii: "/"))
      case 0: topic += "\u{FFFD}".utf8
      default: topic.append(byte)
      }
    }
    return String(decoding: topic, as: UTF8.self)
  }
}
