extension AgentConfiguration {
  /// How the agent reaches its brokers, and when.
  public struct MQTT: Sendable, Hashable {
    public struct Broker: Sendable, Hashable {
      public var host: String
      public var port: Int
    }

    /// What a TLS connection takes; files are read anew for every connection.
    public struct TLS: Sendable, Hashable {
      public enum Trust: Sendable, Hashable {
        /// The operating system's authorities.
        case system
        /// The authorities of a PEM file.
        case file(String)
        /// A key that both sides know under a name, in a file: no certificates at all.
        case preSharedKey(identity: String, keyFile: String)
      }

      public var trust: Trust
      public var certificateFile: String?
      public var keyFile: String?
      public var alpn: String?
      /// "1.2" or "1.3".
      public var minimumVersion: String
    }

    /// When there is a connection.
    public enum Link: Sendable, Hashable {
      case always
      /// For bursts: at each event, and every `interval` seconds with all that is due. It is closed after `linger` idle
      /// seconds.
      case bursts(interval: Double, linger: Double)
      /// The same, but only while the vehicle rests.
      case burstsAtRest(interval: Double, linger: Double)
    }

    /// In order of preference; never empty.
    public var brokers: [Broker]
    /// Nil speaks plain text.
    public var tls: TLS?
    public var clientID: String
    public var isVersion5: Bool
    /// Seconds.
    public var keepAlive: Int
    /// Seconds, while the vehicle rests; nil is the same.
    public var keepAliveAtRest: Int?
    public var user: String?
    public var passwordFile: String?
    public var link: Link
    /// Messages under way at most.
    public var window: Int
    /// Seconds.
    public var connectTimeout: Double
    /// Seconds: the ceiling of the first wait after a failure, and of every wait.
    public var backoffBase, backoffLimit: Double
    /// Seconds for which a broker keeps what comes for a vehicle that is away; 0 keeps nothing.
    public var sessionExpiry: Int
    /// Seconds after which events and tracks that nobody took are worth nothing; nil keeps them.
    public var messageExpiry: Int?
  }
}

extension AgentConfiguration.MQTT {
  init(_ reader: ConfigurationReader, fleet: String, vehicle: String) throws(ConfigurationError) {
    let addresses = try Self.addresses(reader)
    brokers = addresses.map { Broker(host: $0.host, port: $0.port) }
    clientID = reader.optionalText("mqtt.client_id") ?? "odographd-\(fleet)-\(vehicle)"
    isVersion5 = try reader.text("mqtt.protocol") == "5"
    keepAlive = try reader.integer("mqtt.keepalive")
    user = reader.optionalText("mqtt.user")
    passwordFile = reader.optionalText("mqtt.password_file")
    if passwordFile != nil, user == nil {
      throw reader.problem("mqtt.password_file", "a password needs a name with it; set mqtt.user")
    }
    let rest = try reader.integer("mqtt.keepalive_at_rest")
    keepAliveAtRest = rest > 0 ? max(5, rest) : nil
    let interval = try reader.number("mqtt.burst_interval")
    let linger = try reader.number("mqtt.burst_linger")
    link =
      switch try reader.text("mqtt.link") {
      case "bursts": .bursts(interval: interval, linger: linger)
      case "bursts-at-rest": .burstsAtRest(interval: interval, linger: linger)
      default: .always
      }
    window = try reader.integer("mqtt.window")
    connectTimeout = try reader.number("mqtt.connect_timeout")
    backoffBase = try reader.number("mqtt.backoff_base")
    backoffLimit = try reader.number("mqtt.backoff_limit")
    if backoffLimit < backoffBase {
      throw reader.problem("mqtt.backoff_limit", "it is below mqtt.backoff_base; raise it, or lower that")
    }
    sessionExpiry = try reader.integer("mqtt.session_expiry")
    let expiry = try reader.integer("mqtt.message_expiry")
    messageExpiry = expiry > 0 ? expiry : nil
    tls = try TLS(reader, isUsed: addresses[0].usesTLS)
  }

  /// At least one, all with TLS or all without.
  private static func addresses(_ reader: ConfigurationReader) throws(ConfigurationError) -> [BrokerAddress] {
    var addresses: [BrokerAddress] = []
    for text in try reader.texts("mqtt.broker") {
      guard let address = BrokerAddress(text) else {
        throw reader.problem(
          "mqtt.broker", "\"\(text.prefix(80))\" is not mqtt://HOST[:PORT] or mqtts://HOST[:PORT]")
      }
      addresses.append(address)
    }
    guard let first = addresses.first else {
      throw reader.problem("mqtt.broker", "no broker is named; write one as mqtt://HOST or mqtts://HOST")
    }
    guard addresses.allSatisfy({ $0.usesTLS == first.usesTLS }) else {
      throw reader.problem(
        "mqtt.broker",
        "mqtt:// and mqtts:// cannot be mixed, or TLS would mean nothing; write mqtts:// for all")
    }
    return addresses
  }
}

extension AgentConfiguration.MQTT.TLS {
  /// Nil without TLS; a key that only TLS gives a meaning to is then an error, because whoever set it relies on it.
  fileprivate init?(_ reader: ConfigurationReader, isUsed: Bool) throws(ConfigurationError) {
    let keys = ["ca_file", "certificate_file", "key_file", "alpn", "psk_identity", "psk_file"]
    guard isUsed else {
      if let key = keys.first(where: { reader.optionalText("mqtt.\($0)") != nil }) {
        throw reader.problem(
          "mqtt.\(key)", "mqtt.broker is not mqtts://, so nothing would be encrypted; write mqtts://")
      }
      return nil
    }
    let identity = try reader.pair("mqtt.certificate_file", "mqtt.key_file")
    (certificateFile, keyFile) = (identity?.0, identity?.1)
    alpn = reader.optionalText("mqtt.alpn")
    minimumVersion = try reader.text("mqtt.tls_minimum")
    let secret = try reader.pair("mqtt.psk_identity", "mqtt.psk_file")
    let authorities = reader.optionalText("mqtt.ca_file")
    guard let (identity, secretFile) = secret else {
      trust = authorities.map(Trust.file) ?? .system
      return
    }
    if authorities != nil || certificateFile != nil {
      throw reader.problem(
        "mqtt.psk_identity", "a pre-shared key stands for certificates; leave out mqtt.ca_file and the others"
      )
    }
    trust = .preSharedKey(identity: identity, keyFile: secretFile)
  }
}
