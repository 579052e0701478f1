public import MQTT

/// How a consumer reaches its queue. Every default is written here.
public struct AMQPConfiguration: Hashable, Sendable {
  public var address: AMQPAddress
  /// nil proves by the certificate who this is (SASL EXTERNAL).
  public var user: String?
  public var password: MQTTSecret?
  /// nil speaks plain text. Files are read anew for every connection; a shared key is not possible.
  public var tls: MQTTTLS?
  /// 1...255 bytes. Consumers of the same queue split its messages.
  public var queue: String
  /// The topic exchange that RabbitMQ's MQTT plugin publishes to.
  public var exchange = "amq.topic"
  /// Patterns of routing keys, as from `RoutingKey.pattern`. A queue keeps those that it was bound with before.
  public var patterns: [String]
  /// 1...65,535: the most messages that the broker sends ahead of their acknowledgement. It begins with fewer; see
  /// `PrefetchWindow`.
  public var mostPrefetch = 4000
  /// The most messages that are read or under way and not acknowledged; below `mostPrefetch` it is that.
  public var mostUnacknowledged = 10_000
  /// Seconds for a TCP connection with its TLS handshake, of one node.
  public var connectTimeout = 10.0
  /// Seconds for each answer of the broker after that: the election of a queue's leader is within it.
  public var answerTimeout = 20.0
  /// Seconds between signs of life; a node that gives none for twice as long is left. RabbitMQ's guide advises 5 to 20.
  public var heartbeat: Int32 = 5
  /// Seconds above which no wait for the next attempt rises.
  public var backoffLimit = 10.0

  public init(address: AMQPAddress, queue: String, patterns: [String]) {
    self.address = address
    self.queue = queue
    self.patterns = patterns
    user = address.user
    if address.usesTLS { tls = MQTTTLS(trust: .system) }
  }

  /// Checks the bounds that this page states.
  /// - Throws: `AMQPError` naming the setting and what it accepts.
  public func validate() throws(AMQPError) {
    func check(_ holds: Bool, _ setting: String, _ cause: String) throws(AMQPError) {
      if !holds { throw AMQPError(operation: "configure", object: setting, cause: cause) }
    }
    try check(!address.nodes.isEmpty, "address", "it names no node")
    for (name, what) in [(queue, "queue"), (exchange, "exchange")] {
      try check((1...255).contains(name.utf8.count), what, "its name has to be 1...255 bytes")
      try check(!name.utf8.contains(0), what, "its name contains a zero byte")
      try check(
        what == "exchange" || !name.hasPrefix("amq."), what, "names that begin with amq. are the broker's own"
      )
    }
    try check(!patterns.isEmpty, "patterns", "none is given: nothing would come")
    try check((1...65_535).contains(mostPrefetch), "mostPrefetch", "it has to be 1...65535")
    try check((1...300).contains(connectTimeout), "connectTimeout", "it has to be 1...300 s")
    try check((1...300).contains(answerTimeout), "answerTimeout", "it has to be 1...300 s")
    try check((1...3600).contains(heartbeat), "heartbeat", "it has to be 1...3600 s")
    try check(backoffLimit > 0, "backoffLimit", "it has to be above 0 s")
    try check(user != nil || password == nil, "password", "it belongs to a user; name one")
    try check(
      user != nil || tls?.identity != nil, "user",
      "there is neither a user nor a certificate to prove who this is")
    if case .preSharedKey? = tls?.trust {
      throw AMQPError(
        operation: "configure", object: "tls",
        cause: "a shared key is not possible with AMQP; use certificates")
    }
    try check(tls?.alpn == nil, "tls", "AMQP asks for no application protocol (ALPN)")
  }
}
