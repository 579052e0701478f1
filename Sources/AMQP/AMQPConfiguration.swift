package import MQTT
package import Platform

/// The settings of a consumer: its cluster, queue and limits, with their defaults.
package struct AMQPConfiguration: Hashable, Sendable {
  package var address: AMQPAddress
  /// The user name; nil to authenticate with the client certificate (SASL EXTERNAL).
  package var user: String?
  package var password: MQTTSecret?
  /// The TLS settings; nil for a plain connection. Files are read again for every connection. Pre-shared keys
  /// are not supported.
  package var tls: MQTTTLS?
  /// The name of the queue, 1...255 bytes. Consumers of the same queue split its messages.
  package var queue: String
  /// The topic exchange to which RabbitMQ's MQTT plugin publishes.
  package var exchange = "amq.topic"
  /// Patterns of routing keys, such as those of `RoutingKey.pattern`. Existing bindings of the queue are
  /// retained.
  package var patterns: [String]
  /// The maximum number of messages that the broker may send before they are acknowledged, 1...65,535. It
  /// starts with fewer; see `PrefetchWindow`.
  package var mostPrefetch = 4000
  /// The maximum number of unacknowledged messages; at least `mostPrefetch`.
  package var mostUnacknowledged = 10_000
  /// The time limit in seconds for TCP connection and TLS handshake with one node.
  package var connectTimeout = 10.0
  /// The time limit in seconds for each later answer of the broker, including the election of a queue's
  /// leader.
  package var answerTimeout = 20.0
  /// The heartbeat interval in seconds; a node that is silent for twice as long is disconnected. RabbitMQ's
  /// guide recommends 5 to 20.
  package var heartbeat: Int32 = 5
  /// The maximum delay in seconds before the next attempt to connect.
  package var backoffLimit = 10.0

  package init(address: AMQPAddress, queue: String, patterns: [String]) {
    self.address = address
    self.queue = queue
    self.patterns = patterns
    user = address.user
    if address.usesTLS { tls = MQTTTLS(trust: .system) }
  }

  /// Checks the limits that are documented here.
  /// - Throws: `OperationError` with the setting and its valid values.
  package func validate() throws(OperationError) {
    func check(_ holds: Bool, _ setting: String, _ cause: String) throws(OperationError) {
      if !holds { throw OperationError("AMQP", operation: "configure", object: setting, cause: cause) }
    }
    try check(!address.nodes.isEmpty, "address", "it contains no node")
    for (name, what) in [(queue, "queue"), (exchange, "exchange")] {
      try check((1...255).contains(name.utf8.count), what, "the name must be 1...255 bytes")
      try check(!name.utf8.contains(0), what, "its name contains a zero byte")
      try check(
        what == "exchange" || !name.hasPrefix("amq."), what, "names that begin with amq. are the broker's own"
      )
    }
    try check(!patterns.isEmpty, "patterns", "at least one is required")
    try check((1...65_535).contains(mostPrefetch), "mostPrefetch", "must be 1...65535")
    try check((1...300).contains(connectTimeout), "connectTimeout", "must be 1...300 s")
    try check((1...300).contains(answerTimeout), "answerTimeout", "must be 1...300 s")
    try check((1...3600).contains(heartbeat), "heartbeat", "must be 1...3600 s")
    try check(backoffLimit > 0, "backoffLimit", "must be above 0 s")
    try check(user != nil || password == nil, "password", "it belongs to a user; name one")
    try check(
      user != nil || tls?.identity != nil, "user",
      "a user or a certificate is required")
    if case .preSharedKey? = tls?.trust {
      throw OperationError(
        "AMQP", operation: "configure", object: "tls",
        cause: "a shared key is not possible with AMQP; use certificates")
    }
    try check(tls?.alpn == nil, "tls", "AMQP asks for no application protocol (ALPN)")
  }
}
