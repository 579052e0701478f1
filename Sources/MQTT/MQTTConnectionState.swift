/// State of the connection, reported to the session's handler once per change.
public enum MQTTConnectionState: Hashable, Sendable {
  /// The broker accepted the connection, with these properties.
  case connected(MQTTServerProperties)
  /// There is no connection, or attempts fail for another reason than the last one reported.
  /// - Parameter willRetryIn: time in s to the next attempt; nil after the session was stopped.
  case disconnected(MQTTDisconnection, willRetryIn: Double?)
}

/// Properties of an accepted connection (MQTT 5, section 3.2.2.3). Under 3.1.1, and for absent properties,
/// they are the protocol's defaults.
public struct MQTTServerProperties: Hashable, Sendable {
  /// The broker that accepted the connection.
  public var broker: MQTTConfiguration.Broker
  /// Protocol level: 5, or 4 for 3.1.1.
  public var protocolLevel: UInt8
  /// True if the broker has a previous session with its subscriptions.
  public var sessionPresent: Bool
  /// Maximum number of unacknowledged QoS 1 messages that the broker accepts.
  public var receiveMaximum: UInt16 = .max
  /// Size in bytes of the largest accepted packet; nil for no limit.
  public var maximumPacketSize: UInt32?
  public var maximumQoS: QoS = .exactlyOnce
  public var retainAvailable = true
  public var sharedSubscriptionsAvailable = true
  /// Keep-alive time in s set by the broker; nil if it accepts the requested one.
  public var keepAlive: UInt16?
  /// Client identifier assigned by the broker if none was sent.
  public var assignedClientID: String?
  /// The broker's explanation in plain text.
  public var reasonString: String?
  /// Another broker that the client should use.
  public var serverReference: String?
  /// The broker's certificate; nil without TLS, and with a pre-shared key.
  public var certificate: MQTTPeerCertificate?

  init(broker: MQTTConfiguration.Broker, protocolLevel: UInt8, sessionPresent: Bool) {
    self.broker = broker
    self.protocolLevel = protocolLevel
    self.sessionPresent = sessionPresent
  }
}

/// The broker's certificate and TLS version.
public struct MQTTPeerCertificate: Hashable, Sendable {
  /// TLS version, as in `TLSv1.3`.
  public var tlsVersion: String
  /// Distinguished name in OpenSSL's one-line form.
  public var subject: String
  public var issuer: String
  /// Remaining validity in s at the time of the connection.
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
