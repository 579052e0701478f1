/// What a session's handler is told, once per change.
public enum MQTTConnectionState: Hashable, Sendable {
  /// The broker accepted, and what it granted.
  case connected(MQTTServerProperties)
  /// There is no connection, or attempts fail for another reason than the last one reported.
  /// - Parameter willRetryIn: seconds to the next attempt; nil when the session is stopped.
  case disconnected(MQTTDisconnection, willRetryIn: Double?)
}

/// What a broker granted when it accepted the connection (MQTT 5, section 3.2.2.3). Under 3.1.1, and where
/// it says nothing, the protocol's defaults stand here.
public struct MQTTServerProperties: Hashable, Sendable {
  /// The broker that accepted.
  public var broker: MQTTConfiguration.Broker
  /// 5, or 4 for 3.1.1.
  public var protocolLevel: UInt8
  /// Whether the broker remembered subscriptions from before.
  public var sessionPresent: Bool
  /// How many QoS 1 messages it accepts before it has acknowledged one.
  public var receiveMaximum: UInt16 = .max
  /// The largest packet in bytes that it accepts; nil means no limit.
  public var maximumPacketSize: UInt32?
  public var maximumQoS: QoS = .exactlyOnce
  public var retainAvailable = true
  public var sharedSubscriptionsAvailable = true
  /// Seconds that the broker sets in place of those asked for; nil when it agrees.
  public var keepAlive: UInt16?
  /// The name it gave a client that came without one.
  public var assignedClientID: String?
  /// Its own words, for people.
  public var reasonString: String?
  /// Where it wants this client to go instead.
  public var serverReference: String?
  /// What it showed of itself; nil without TLS, and with a shared key.
  public var certificate: MQTTPeerCertificate?

  init(broker: MQTTConfiguration.Broker, protocolLevel: UInt8, sessionPresent: Bool) {
    self.broker = broker
    self.protocolLevel = protocolLevel
    self.sessionPresent = sessionPresent
  }
}

/// The certificate that a broker showed, and under which protocol.
public struct MQTTPeerCertificate: Hashable, Sendable {
  /// As in `TLSv1.3`.
  public var tlsVersion: String
  /// Distinguished names in OpenSSL's one-line form.
  public var subject: String
  public var issuer: String
  /// Seconds from the moment of the connection until it ends.
  public var secondsLeft: Double
}

extension MQTTServerProperties {
  init(broker: MQTTConfiguration.Broker, version311: Bool, _ answer: ClientEvents.ConnectAnswer) {
    self.init(broker: broker, protocolLevel: version311 ? 4 : 5, sessionPresent: answer.flags & 1 != 0)
    let grants = answer.grants
    receiveMaximum = grants.receiveMaximum ?? .max
    maximumPacketSize = grants.maximumPacketSize
    maximumQoS = grants.maximumQoS.flatMap(QoS.init(rawValue:)) ?? .exactlyOnce
    retainAvailable = grants.retainAvailable != 0
    sharedSubscriptionsAvailable = grants.sharedSubscriptionsAvailable != 0
    keepAlive = grants.keepAlive
    assignedClientID = grants.assignedClientID
    reasonString = grants.reasonString
    serverReference = grants.serverReference
  }
}
