package import Platform

/// The mapping of MQTT topics to routing keys in RabbitMQ's MQTT plugin: dots between levels instead of
/// slashes, `*` instead of `+`. A dot within a level becomes a further level, so names with dots are
/// ambiguous. Pure functions.
package enum RoutingKey {
  /// The maximum length of a routing key in bytes (AMQP 0-9-1, short string).
  package static let longest = 255

  /// Returns the binding pattern for an MQTT filter.
  /// - Throws: `OperationError` for a filter that a topic exchange cannot express.
  package static func pattern(for filter: String) throws(OperationError) -> String {
    func wrong(_ cause: String) -> OperationError {
      OperationError("AMQP", operation: "bind to", object: "\"\(filter.prefix(100))\"", cause: cause)
    }
    var words: [Substring] = []
    let levels = filter.split(separator: "/", omittingEmptySubsequences: false)
    for (place, level) in levels.enumerated() {
      switch level {
      case "+": words.append("*")
      case "#":
        guard place == levels.count - 1 else { throw wrong("\"#\" is allowed at the end only") }
        words.append("#")
      case _ where level.contains("."):
        throw wrong(
          "RabbitMQ's MQTT plugin makes a dot of each \"/\", so \"\(level.prefix(60))\" is two levels there; give names without dots"
        )
      case _ where level.contains(where: { "+#*".contains($0) }):
        throw wrong(
          "\"\(level.prefix(60))\" is not a topic level: + and # must fill a whole level, and * is a wildcard of RabbitMQ"
        )
      default: words.append(level)
      }
    }
    let pattern = words.joined(separator: ".")
    guard !filter.isEmpty, pattern.utf8.count <= longest else {
      throw wrong("a routing key must have 1 to \(longest) bytes")
    }
    return pattern
  }

  /// Returns the topic of a routing key. A zero byte, which MQTT forbids but the plugin accepts, becomes
  /// U+FFFD: databases cannot store it in a text, and the message would be redelivered forever.
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
