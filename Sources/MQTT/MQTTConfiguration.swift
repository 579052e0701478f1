/// How a session reaches its broker and what it says when it gets there. Every default is written here.
public struct MQTTConfiguration: Sendable {
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

/// A password or key: where it comes from, not printed with its value. A file is read anew for every
/// connection, so a renewed one is picked up without a restart.
public enum MQTTSecret: Hashable, Sendable, CustomStringConvertible {
  case value(String)
  /// The path of a file with the secret in its first line; a systemd credential is one such file.
  case file(String)

  public var description: String {
    switch self {
    case .value: "(secret)"
    case .file(let path): "(secret from \(path))"
    }
  }
}

/// What the session demands of a TLS connection, and shows of itself. Files are read anew for every
/// connection. The certificate and the name in it are always checked: there is no insecure mode.
public struct MQTTTLS: Hashable, Sendable {
  public enum Version: String, Hashable, Sendable {
    case tls12 = "tlsv1.2"
    case tls13 = "tlsv1.3"
  }

  /// Whom to believe.
  public enum Trust: Hashable, Sendable {
    /// The certificate authorities of the operating system.
    case system
    /// The authorities in a PEM file.
    case file(String)
    /// The authorities in a directory prepared by `openssl rehash`.
    case directory(String)
    /// No certificates at all: both sides know a key (hexadecimal digits) under a name.
    case preSharedKey(identity: String, key: MQTTSecret)
  }

  /// This client's own certificate chain and private key, PEM files.
  public struct Identity: Hashable, Sendable {
    public var certificateFile: String
    public var keyFile: String

    public init(certificateFile: String, keyFile: String) {
      self.certificateFile = certificateFile
      self.keyFile = keyFile
    }
  }

  public var trust: Trust
  public var identity: Identity?
  /// The application protocol to ask for, at most 254 bytes, as in `x-amzn-mqtt-ca` or `mqtt`.
  public var alpn: String?
  public var minimumVersion: Version = .tls12

  public init(trust: Trust = .system, identity: Identity? = nil) {
    self.trust = trust
    self.identity = identity
  }
}
