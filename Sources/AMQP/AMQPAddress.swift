package import MQTT
package import Platform

/// The address of a cluster: `amqps://[user@]host[:port][,host[:port]…][/vhost]`, or `amqp://` without TLS.
/// The format is the URI of AMQP 0-9-1 with a list of hosts, as in libpq.
package struct AMQPAddress: Hashable, Sendable {
  /// The nodes in order of preference; never empty.
  package var nodes: [MQTTConfiguration.Broker]
  package var usesTLS: Bool
  package var user: String?
  /// The virtual host; `/` by default.
  package var virtualHost: String

  /// Returns whether a text has the scheme of an AMQP address.
  package static func isOne(_ text: String) -> Bool {
    let text = text.lowercased()
    return text.hasPrefix("amqp://") || text.hasPrefix("amqps://")
  }

  /// Parses an address.
  ///
  /// - Throws: `OperationError` with the invalid part.
  package init(parsing text: String) throws(OperationError) {
    func wrong(_ cause: String) -> OperationError {
      OperationError("AMQP", operation: "read", object: "address \"\(text.prefix(100))\"", cause: cause)
    }
    guard Self.isOne(text) else { throw wrong("must start with amqp:// or amqps://") }
    usesTLS = text.lowercased().hasPrefix("amqps://")
    var rest = text.dropFirst(usesTLS ? 8 : 7)
    guard !rest.contains("?") else { throw wrong("it has no options after a \"?\"; leave them out") }
    virtualHost = "/"
    // A user name can contain "@", the list of hosts cannot.
    let hostsEnd =
      rest.lastIndex(of: "@").flatMap { rest[$0...].firstIndex(of: "/") } ?? rest.firstIndex(of: "/")
    if let slash = hostsEnd {
      let name = rest[rest.index(after: slash)...]
      guard let decoded = Self.decoded(name), !decoded.utf8.contains(0) else {
        throw wrong(
          "\"\(name.prefix(60))\" is not a virtual host: a % must be followed by two hexadecimal digits")
      }
      guard !name.contains("/") else {
        throw wrong("\"\(name.prefix(60))\" is no virtual host; write a / in its name as %2F")
      }
      guard decoded.utf8.count <= 255 else { throw wrong("the virtual host has more than 255 bytes") }
      if !decoded.isEmpty { virtualHost = decoded }
      rest = rest[..<slash]
    }
    if let at = rest.lastIndex(of: "@") {
      guard let name = Self.decoded(rest[..<at]), !name.isEmpty, !name.utf8.contains(0) else {
        throw wrong("\"\(rest[..<at].prefix(60))\" is no user")
      }
      guard !rest[..<at].contains(":") else {
        throw wrong(
          "a password here is seen by every user of this machine; put it in a file (--password-file)")
      }
      user = name
      rest = rest[rest.index(after: at)...]
    }
    nodes = []
    for part in rest.split(separator: ",", omittingEmptySubsequences: false) {
      do throws(OperationError) {
        var node = try BrokerAddress(parsing: String(part))
        if !node.hasExplicitPort { node.port = usesTLS ? 5671 : 5672 }
        nodes.append(node.broker)
      } catch { throw wrong(error.cause) }
    }
  }

  /// Decodes the escapes of RFC 3986; nil for an invalid escape or invalid UTF-8.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst(), let low = rest.popFirst(),
        let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16), high != UInt8(ascii: "+")
      else { return nil }
      bytes.append(value)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The nodes as text for messages.
  package var name: String { nodes.map(\.description).joined(separator: ", ") }
}
