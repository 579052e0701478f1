public import Platform
public import Spatial

/// Configuration of a session: brokers, credentials, limits and timeouts, with all defaults.
public struct MQTTConfiguration: Hashable, Sendable {
  /// Host and port of a broker.
  public struct Broker: Hashable, Sendable, CustomStringConvertible {
    /// A host name or a numeric address; with TLS, the name in the certificate.
    public var host: String
    /// Port, 1...65,535; usually 1883, with TLS 8883.
    public var port: Int

    public init(host: String, port: Int = 1883) {
      self.host = host
      self.port = port
    }

    public var description: String { host.utf8.contains(0x3A) ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  /// The protocol version.
  public enum ProtocolVersion: Hashable, Sendable {
    /// MQTT 5, or 3.1.1 with a broker that does not support 5.
    case automatic
    case v5
    case v311
  }

  /// Brokers in order of preference: each round of attempts starts with the first.
  public var brokers: [Broker]
  /// True to report each failure to connect; false to report only after a whole round, if another broker,
  /// version (3.1.1) or address family (IPv4) can be tried immediately.
  public var reportsEachBroker = true
  /// Client identifier, 1...65,535 bytes of UTF-8, unique at the broker: a second client of the same name
  /// disconnects the first.
  public var clientID: String
  public var protocolVersion: ProtocolVersion = .automatic
  /// Keep-alive time in s, 5...65,535: the broker closes a silent connection and publishes its will after 1.5
  /// times this time. Small values detect failures sooner, large ones wake the modem less often.
  public var keepAlive: Int = 60
  /// Time in s for which the radio remains connected after the last byte; used only for
  /// `MQTTStatistics.link`.
  public var radioTail = 0.0
  /// True if the broker must discard the previous session of this client identifier.
  public var cleanStart = true
  /// Time in s for which the broker stores subscriptions and undelivered messages after a disconnect; 0
  /// discards them immediately. Under 3.1.1 anything but a clean start with 0 means "forever".
  public var sessionExpiryInterval: UInt32 = 0
  /// Maximum number of unacknowledged QoS 1 messages from the broker, 1...65,535. It also limits the number
  /// of messages that are stored in one commit.
  public var receiveMaximum: UInt16 = 500
  /// Maximum size in bytes of a packet from the broker, at least 256. MQTT 5 announces it to the broker. A
  /// larger message under 3.1.1, or of QoS 0, is skipped and counted; any other larger packet ends the
  /// connection.
  public var maximumPacketSize: UInt32 = 16 << 20
  /// True if a clean end must delete the session at the broker even if `sessionExpiryInterval` would retain
  /// it (MQTT 5). All pending messages are received and sent before.
  public var endsSession = false
  /// Number of messages after which reading pauses while batches are held (`BatchOutcome.held`). Until they
  /// are settled, the network buffers further messages. The best value is the number of messages stored in
  /// one transaction.
  public var heldPortion = 2000
  /// Maximum number of unsettled messages, and of bytes in their payloads. Above a limit, reading pauses
  /// until messages are settled, however long that takes.
  public var heldMessages = 10_000
  public var heldBytes = 16 << 20
  /// Maximum number of unacknowledged QoS 1 messages to the broker, 1...1000, within the broker's own limit.
  /// Large values are fast over long distances, small ones reduce repetition after a lost connection.
  public var publishWindow: Int = 100
  public var userName: String?
  public var password: MQTTSecret?
  /// TLS settings; nil for plain text.
  public var tls: MQTTTLS?
  /// Message that the broker publishes after a lost connection, but not after a clean `stop`.
  public var will: MQTTMessage?
  /// Time limit in s from the first packet to the broker's CONNACK, without the name lookup; 1...300.
  public var connectTimeout: Double = 20
  /// Time in s without an answer to a message or subscription request after which the connection ends, although
  /// the broker answers pings; 1...3600. It does not include the time of sending over a slow link.
  public var answerTimeout: Double = 60
  /// Maximum of the first wait after a failure in s. It doubles with each failure.
  public var backoffBase: Double = 1
  /// Maximum of all waits in s.
  public var backoffLimit: Double = 120
  public var linkPolicy: MQTTLinkPolicy = .standing
  /// Earliest plausible wall clock; 2025 by default. With an earlier clock all
  /// certificates would seem not yet valid, so TLS is postponed until the clock is set.
  public var earliestPlausibleTime = UTCTime(secondsSince1970: 1_735_689_600)

  public init(brokers: [Broker], clientID: String) {
    self.brokers = brokers
    self.clientID = clientID
  }
}

/// The policy for opening and closing the connection.
public enum MQTTLinkPolicy: Hashable, Sendable {
  /// A permanent connection, as far as the network allows.
  case standing
  /// Short connections, so that a modem can sleep in between. The link opens with `MQTTSession.wakeUp()`, and
  /// `interval` seconds after it last opened (nil for never). It transfers all pending messages and then waits
  /// for commands. After `linger` seconds without activity it publishes the messages of `Handlers.farewell`
  /// and closes. Messages of `publishNow` do not keep it open, and are dropped between bursts.
  case bursts(linger: Double, interval: Double? = nil)
}

extension MQTTConfiguration {
  /// Checks all bounds stated in this type.
  /// - Throws: `OperationError` naming the setting and its valid range.
  public func validate() throws(OperationError) {
    try check(!brokers.isEmpty, "brokers", "none is given; name at least one host and port")
    for broker in brokers {
      try check(!broker.host.isEmpty, "broker \(broker)", "the host is empty")
      try check((1...65_535).contains(broker.port), "broker \(broker)", "the port has to be 1...65535")
    }
    try check((1...65_535).contains(clientID.utf8.count), "clientID", "must be 1...65535 bytes")
    try check(!clientID.utf8.contains(0), "clientID", "it contains a zero byte")
    try check((5...65_535).contains(keepAlive), "keepAlive", "\(keepAlive) s is outside 5...65535")
    try check(receiveMaximum > 0, "receiveMaximum", "must be 1...65535")
    try check(
      (256...268_435_455).contains(maximumPacketSize), "maximumPacketSize",
      "\(maximumPacketSize) is outside 256...268435455")
    try check((1...1000).contains(publishWindow), "publishWindow", "\(publishWindow) is outside 1...1000")
    try check((1...300).contains(connectTimeout), "connectTimeout", "\(connectTimeout) s is outside 1...300")
    try check((1...3600).contains(answerTimeout), "answerTimeout", "\(answerTimeout) s is outside 1...3600")
    try check(backoffBase > 0, "backoffBase", "must be above 0 s")
    try check(backoffLimit >= backoffBase, "backoffLimit", "it is below backoffBase")
    if case .bursts(let linger, let interval) = linkPolicy {
      try check((0...3600).contains(linger), "linkPolicy", "a linger of \(linger) s is outside 0...3600")
      try check((interval ?? 1) > 0, "linkPolicy", "an interval has to be above 0 s")
    }
    try check(password == nil || userName != nil, "password", "MQTT 3.1.1 requires a user name")
    if let will {
      try check(MQTTTopic.isValidName(will.topic), "will", "\"\(will.topic)\" is not a topic name")
      try check(will.payload.count <= 65_535, "will", "its payload is above 65535 bytes")
    }
  }

  private func check(_ holds: Bool, _ setting: String, _ cause: String) throws(OperationError) {
    if !holds { throw OperationError("MQTT", operation: "configure", object: setting, cause: cause) }
  }
}
