internal import Bytes
public import Platform

/// A broker's address in text form: `mqtt://[user@]host[:port]`, `mqtts://…` for TLS, or `host[:port]`.
public struct BrokerAddress: Hashable, Sendable, CustomStringConvertible {
  public var host: String
  public var port: Int
  public var usesTLS: Bool
  public var user: String?
  /// True if the port was given explicitly, false if it is the protocol's default.
  public var hasExplicitPort: Bool

  public init(host: String, port: Int? = nil, usesTLS: Bool = false, user: String? = nil) {
    self.host = host
    self.port = port ?? (usesTLS ? 8883 : 1883)
    self.usesTLS = usesTLS
    self.user = user
    hasExplicitPort = port != nil
  }

  /// The broker on this machine.
  public static let local = BrokerAddress(host: "localhost")

  /// - Throws: `OperationError` naming the invalid part.
  public init(parsing text: String) throws(OperationError) {
    func wrong(_ cause: String) -> OperationError {
      OperationError(
        "MQTT", operation: "read", object: "broker address \"\(text.prefix(100))\"", cause: cause)
    }
    var rest = text[...]
    var usesTLS = false
    if let end = rest.firstRange(ofText: "://") {
      switch rest[..<end.lowerBound].lowercased() {
      case "mqtt", "tcp": break
      case "mqtts", "ssl", "tls": usesTLS = true
      default: throw wrong("must start with mqtt:// or mqtts://")
      }
      rest = rest[end.upperBound...]
    }
    if rest.hasSuffix("/") { rest.removeLast() }
    var user: String?
    if let at = rest.lastIndex(of: "@") {
      let name = rest[..<at]
      guard !name.contains(":") else {
        throw wrong(
          "a password here is seen by every user of this machine; put it in a file (--password-file, password_file)"
        )
      }
      guard !name.isEmpty else { throw wrong("the user before the @ is missing") }
      user = String(name)
      rest = rest[rest.index(after: at)...]
    }
    var host = rest
    var port: Int?
    if rest.first == "[" {
      guard let close = rest.firstIndex(of: "]") else { throw wrong("the [ of the address is not closed") }
      host = rest[rest.index(after: rest.startIndex)..<close]
      rest = rest[rest.index(after: close)...]
      guard rest.isEmpty || rest.first == ":" else { throw wrong("only a port may follow the ]") }
      if !rest.isEmpty { port = try Self.port(rest.dropFirst(), wrong) }
    } else if let colon = rest.firstIndex(of: ":") {
      guard colon == rest.lastIndex(of: ":") else { throw wrong("an IPv6 address must be in [brackets]") }
      host = rest[..<colon]
      port = try Self.port(rest[rest.index(after: colon)...], wrong)
    }
    guard !host.isEmpty else { throw wrong("it has no host") }
    guard !host.contains(where: { $0 == "/" || $0 == " " || $0.isNewline }) else {
      throw wrong("\"\(host.prefix(60))\" is not a host name")
    }
    self.init(host: String(host), port: port, usesTLS: usesTLS, user: user)
  }

  private static func port(
    _ text: Substring, _ wrong: (String) -> OperationError
  ) throws(OperationError) -> Int {
    guard let port = Int(text), (1...65_535).contains(port) else {
      throw wrong("the port is not a number from 1 to 65535")
    }
    return port
  }

  /// Host and port, without TLS and user.
  public var broker: MQTTConfiguration.Broker { .init(host: host, port: port) }

  /// Address without scheme and user, for messages to users.
  public var description: String { broker.description }
}
