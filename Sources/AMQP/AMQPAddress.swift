public import MQTT

/// Where the nodes of a cluster are, as people write it: `amqps://[user@]host[:port][,host[:port]…][/vhost]`; `amqp://` without
/// TLS. After the URI of AMQP 0-9-1, with a list of hosts as libpq has it.
public struct AMQPAddress: Hashable, Sendable {
  /// In order of preference; never empty.
  public var nodes: [MQTTConfiguration.Broker]
  public var usesTLS: Bool
  public var user: String?
  /// `/` unless told otherwise.
  public var virtualHost: String

  /// Whether a text means to be such an address.
  public static func isOne(_ text: String) -> Bool {
    let text = text.lowercased()
    return text.hasPrefix("amqp://") || text.hasPrefix("amqps://")
  }

  /// - Throws: `AMQPError` naming the part that is wrong.
  public init(parsing text: String) throws(AMQPError) {
    func wrong(_ cause: String) -> AMQPError {
      AMQPError(operation: "read", object: "address \"\(text.prefix(100))\"", cause: cause)
    }
    guard Self.isOne(text) else { throw wrong("it begins with neither amqp:// nor amqps://") }
    usesTLS = text.lowercased().hasPrefix("amqps://")
    var rest = text.dropFirst(usesTLS ? 8 : 7)
    guard !rest.contains("?") else { throw wrong("it has no options after a \"?\"; leave them out") }
    virtualHost = "/"
    // A name may hold an "@", the list of hosts none.
    let hostsEnd =
      rest.lastIndex(of: "@").flatMap { rest[$0...].firstIndex(of: "/") } ?? rest.firstIndex(of: "/")
    if let slash = hostsEnd {
      let name = rest[rest.index(after: slash)...]
      guard let decoded = Self.decoded(name), !decoded.utf8.contains(0) else {
        throw wrong("\"\(name.prefix(60))\" is no virtual host: after a % stand two hexadecimal digits")
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
      do throws(MQTTError) {
        var node = try BrokerAddress(parsing: String(part))
        if !node.hasExplicitPort { node.port = usesTLS ? 5671 : 5672 }
        nodes.append(node.broker)
      } catch { throw wrong(error.cause) }
    }
  }

  /// Without the escapes of RFC 3986; nil where one of them is none, or not UTF-8.
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

  /// What the nodes are called in front of people.
  public var name: String { nodes.map(\.description).joined(separator: ", ") }
}
