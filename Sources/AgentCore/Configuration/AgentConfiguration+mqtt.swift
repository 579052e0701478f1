package import MQTT
internal import Platform

extension AgentConfiguration {
  /// Connection to the brokers.
  package struct MQTT: Sendable, Hashable {
    /// Settings while the vehicle moves.
    package var client: MQTTConfiguration
    /// Link policy and keep-alive time while the vehicle is at rest.
    package var resting: LinkPlan.Choice
    /// Time in s after which undelivered events and tracks expire; nil for never.
    package var messageExpiry: Int?
  }
}

extension AgentConfiguration.MQTT {
  init(_ reader: ConfigurationReader, fleet: String, vehicle: String) throws(ConfigurationError) {
    let addresses = try Self.addresses(reader)
    client = MQTTConfiguration(
      brokers: addresses.map(\.broker),
      clientID: reader.optionalText("mqtt.client_id") ?? "odographd-\(fleet)-\(vehicle)")
    client.protocolVersion = try reader.text("mqtt.protocol") == "5" ? .automatic : .v311
    client.keepAlive = try reader.integer("mqtt.keepalive")
    // A document of remote management has at most 1 MiB; 64 KiB are added for the rest of the packet.
    client.maximumPacketSize = (1 << 20) + (64 << 10)
    client.radioTail = try reader.number("energy.radio_tail")
    client.userName = reader.optionalText("mqtt.user")
    client.password = reader.optionalText("mqtt.password_file").map(MQTTSecret.file)
    if client.password != nil, client.userName == nil {
      throw reader.problem("mqtt.password_file", "a password needs a name with it; set mqtt.user", .conflict)
    }
    client.tls = try MQTTTLS(reader, isUsed: addresses[0].usesTLS)
    client.publishWindow = try reader.integer("mqtt.window")
    client.connectTimeout = try reader.number("mqtt.connect_timeout")
    client.backoffBase = try reader.number("mqtt.backoff_base")
    client.backoffLimit = try reader.number("mqtt.backoff_limit")
    if client.backoffLimit < client.backoffBase {
      throw reader.problem(
        "mqtt.backoff_limit", "it is below mqtt.backoff_base; raise it, or lower that", .conflict)
    }
    let sessionExpiry = try reader.integer("mqtt.session_expiry")
    client.sessionExpiryInterval = UInt32(clamping: sessionExpiry)
    client.cleanStart = sessionExpiry == 0
    messageExpiry = try reader.positive("mqtt.message_expiry")
    let keepAlive: Int? = try reader.positive("mqtt.keepalive_at_rest")
    resting = LinkPlan.Choice(
      policy: .standing, keepAlive: keepAlive.map { max(5, $0) } ?? client.keepAlive)
    let bursts = MQTTLinkPolicy.bursts(
      linger: try reader.number("mqtt.burst_linger"), interval: try reader.number("mqtt.burst_interval"))
    switch try reader.text("mqtt.link") {
    case "bursts": (client.linkPolicy, resting.policy) = (bursts, bursts)
    case "bursts-at-rest": resting.policy = bursts
    default: break
    }
  }

  /// Returns at least one address, all with TLS or all without.
  private static func addresses(_ reader: ConfigurationReader) throws(ConfigurationError) -> [BrokerAddress] {
    var addresses: [BrokerAddress] = []
    for text in try reader.texts("mqtt.broker") {
      let address: BrokerAddress
      do throws(OperationError) { address = try BrokerAddress(parsing: text) } catch {
        // The text may contain a password.
        throw reader.problem(
          "mqtt.broker",
          text.contains("@")
            ? error.cause : "\"\(text.prefix(80))\" is not mqtt://HOST[:PORT] or mqtts://HOST[:PORT]")
      }
      if address.user != nil {
        throw reader.problem("mqtt.broker", "\"\(text.prefix(80))\" names a user; set mqtt.user instead")
      }
      addresses.append(address)
    }
    guard let first = addresses.first else {
      throw reader.problem("mqtt.broker", "no broker is named; write one as mqtt://HOST or mqtts://HOST")
    }
    guard addresses.allSatisfy({ $0.usesTLS == first.usesTLS }) else {
      throw reader.problem(
        "mqtt.broker",
        "mqtt:// and mqtts:// cannot be mixed, or TLS would mean nothing; write mqtts:// for all", .conflict)
    }
    return addresses
  }
}

extension MQTTTLS {
  /// Reads the TLS keys. Nil without TLS; any TLS key is then an error, because the operator who set it
  /// expects an encrypted connection.
  fileprivate init?(_ reader: ConfigurationReader, isUsed: Bool) throws(ConfigurationError) {
    let keys = ["ca_file", "certificate_file", "key_file", "alpn", "psk_identity", "psk_file"]
    guard isUsed else {
      if let key = keys.first(where: { reader.optionalText("mqtt.\($0)") != nil }) {
        throw reader.problem(
          "mqtt.\(key)", "mqtt.broker is not mqtts://, so nothing would be encrypted; write mqtts://",
          .conflict)
      }
      return nil
    }
    self.init(
      identity: try reader.pair("mqtt.certificate_file", "mqtt.key_file").map {
        Identity(certificateFile: $0, keyFile: $1)
      })
    alpn = reader.optionalText("mqtt.alpn")
    minimumVersion = try reader.text("mqtt.tls_minimum") == "1.3" ? .tls13 : .tls12
    let authorities = reader.optionalText("mqtt.ca_file")
    if let authorities { trust = .file(authorities) }
    guard let (name, file) = try reader.pair("mqtt.psk_identity", "mqtt.psk_file") else { return }
    if authorities != nil || identity != nil {
      throw reader.problem(
        "mqtt.psk_identity",
        "a pre-shared key replaces certificates; remove mqtt.ca_file and the others", .conflict)
    }
    trust = .preSharedKey(identity: name, key: .file(file))
  }
}
