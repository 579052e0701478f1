/// How a session reaches its broker and what it says when it gets there. Every default is written here.
public struct MQTTConfiguration: Hashable, Sendable {
  /// Where a broker listens.
  public struct Broker: Hashable, Sendable, CustomStringConvertible {
    /// A host name or a numeric address; with TLS, the name that the certificate has to carry.
    public var host: String
    /// 1...65,535; usually 1883, with TLS 8883.
    public var port: Int

    public init(host: String, port: Int = 1883) {
      self.host = host
      self.port = port
    }

    public var description: String { host.utf8.contains(0x3A) ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  /// Which protocol to speak.
  public enum ProtocolVersion: Hashable, Sendable {
    /// MQTT 5, and 3.1.1 with a broker that does not know it.
    case automatic
    case v5
    case v311
  }

  /// In order of preference: each attempt round starts with the first.
  public var brokers: [Broker]
  /// Whether a failure to connect is told while there is another broker, or another manner, to try at once (3.1.1, IPv4); else
  /// only when none of a round was reached.
  public var tellsEachBroker = true
  /// 1...65,535 bytes of UTF-8, unique at the broker: a second client of the same name throws out the first.
  public var clientID: String
  public var protocolVersion: ProtocolVersion = .automatic
  /// Seconds, 5...65,535: the broker declares a silent client dead, and publishes its will, after one and a
  /// half times this. Small notices sooner, large wakes the modem less.
  public var keepAlive: Int = 60
  /// Seconds that the radio below stays connected after the last byte; only `MQTTStatistics.link` depends on it.
  public var radioTail = 0.0
  /// Whether the broker forgets what it knew of this client identifier.
  public var cleanStart = true
  /// Seconds for which the broker keeps subscriptions and undelivered messages after the connection ended;
  /// 0 forgets at once. Under 3.1.1 anything but a clean start with 0 means "for ever".
  public var sessionExpiryInterval: UInt32 = 0
  /// 1...65,535: how many QoS 1 messages the broker may have under way to this client, and so the largest
  /// batch that is committed at once.
  public var receiveMaximum: UInt16 = 500
  /// Bytes of the largest packet that the broker may send, at least 256. MQTT 5 tells the broker; a larger message of 3.1.1, and
  /// one of QoS 0 in any case, is left out and counted, everything else that is larger ends the connection.
  public var maximumPacketSize: UInt32 = 16 << 20
  /// Leave for good: an orderly end has the broker forget the session also where `sessionExpiryInterval` would keep
  /// it (MQTT 5), once all that it had for this client has come.
  public var endsSession = false
  /// After how many messages reading pauses while batches are held (`BatchOutcome.held`): the network keeps what comes
  /// meanwhile, until they are settled. Best is what is stored at once.
  public var heldPortion = 2000
  /// How many messages are read at most, and how many bytes of payload, when nothing is settled for a while. Above
  /// that the network holds the broker back, for however long.
  public var heldMessages = 10_000
  public var heldBytes = 16 << 20
  /// 1...1000: how many QoS 1 messages may be under way to the broker, within what it allows. Large is
  /// fast over long distances, small leaves less to send again after a cut.
  public var publishWindow: Int = 100
  public var userName: String?
  public var password: MQTTSecret?
  /// nil speaks plain text.
  public var tls: MQTTTLS?
  /// What the broker publishes when this client vanishes; not published after a clean `stop`.
  public var will: MQTTMessage?
  /// Seconds from the first packet to the broker's CONNACK, name lookup apart; 1...300.
  public var connectTimeout: Double = 20
  /// Seconds: the ceiling of the first wait after a failure. It doubles from failure to failure.
  public var backoffBase: Double = 1
  /// Seconds above which no wait rises.
  public var backoffLimit: Double = 120
  public var linkPolicy: MQTTLinkPolicy = .standing
  /// Seconds since 1970 UTC before which the wall clock cannot be right; 2025 unless told otherwise. With a
  /// clock before that, certificates would all seem not yet valid: TLS is put off until it is set.
  public var earliestPlausibleTime: Int64 = 1_735_689_600

  public init(brokers: [Broker], clientID: String) {
    self.brokers = brokers
    self.clientID = clientID
  }
}

/// When a session keeps a connection.
public enum MQTTLinkPolicy: Hashable, Sendable {
  /// Always, as far as the network lets it.
  case standing
  /// Only for bursts, so that a modem sleeps in between: `MQTTSession.wakeUp()` opens the link, and so does the end of
  /// `interval` seconds since it was last opened (nil: nothing else does). All that is due is carried, and after `linger`
  /// seconds without anything under way (time for commands to come in) the link is closed in good order, with the
  /// messages of `Handlers.farewell`. Values of `publishNow` keep no link open, and are dropped between bursts.
  case bursts(linger: Double, interval: Double? = nil)
}

extension MQTTConfiguration {
  /// Checks every bound that this page states.
  /// - Throws: `MQTTError` naming the setting and what it accepts.
  public func validate() throws(MQTTError) {
    try check(!brokers.isEmpty, "brokers", "none is given; name at least one host and port")
    for broker in brokers {
      try check(!broker.host.isEmpty, "broker \(broker)", "the host is empty")
      try check((1...65_535).contains(broker.port), "broker \(broker)", "the port has to be 1...65535")
    }
    try check((1...65_535).contains(clientID.utf8.count), "clientID", "it has to be 1...65535 bytes")
    try check(!clientID.utf8.contains(0), "clientID", "it contains a zero byte")
    try check((5...65_535).contains(keepAlive), "keepAlive", "\(keepAlive) s is outside 5...65535")
    try check(receiveMaximum > 0, "receiveMaximum", "it has to be 1...65535")
    try check(
      (256...268_435_455).contains(maximumPacketSize), "maximumPacketSize",
      "\(maximumPacketSize) is outside 256...268435455")
    try check((1...1000).contains(publishWindow), "publishWindow", "\(publishWindow) is outside 1...1000")
    try check((1...300).contains(connectTimeout), "connectTimeout", "\(connectTimeout) s is outside 1...300")
    try check(backoffBase > 0, "backoffBase", "it has to be above 0 s")
    try check(backoffLimit >= backoffBase, "backoffLimit", "it is below backoffBase")
    if case .bursts(let linger, let interval) = linkPolicy {
      try check((0...3600).contains(linger), "linkPolicy", "a linger of \(linger) s is outside 0...3600")
      try check((interval ?? 1) > 0, "linkPolicy", "an interval has to be above 0 s")
    }
    try check(password == nil || userName != nil, "password", "3.1.1 forbids one without a user name")
    if let will {
      try check(MQTTTopic.isValidName(will.topic), "will", "\"\(will.topic)\" is not a topic name")
      try check(will.payload.count <= 65_535, "will", "its payload is above 65535 bytes")
    }
  }

  private func check(_ holds: Bool, _ setting: String, _ cause: String) throws(MQTTError) {
    if !holds { throw MQTTError(operation: "configure", object: setting, cause: cause) }
  }
}
