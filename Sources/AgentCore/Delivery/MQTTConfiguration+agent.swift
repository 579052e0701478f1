internal import MQTT

extension MQTTConfiguration {
  /// What the agent's configuration means to the MQTT client.
  init(_ settings: AgentConfiguration.MQTT) {
    self.init(
      brokers: settings.brokers.map { Broker(host: $0.host, port: $0.port) }, clientID: settings.clientID)
    protocolVersion = settings.isVersion5 ? .automatic : .v311
    keepAlive = settings.keepAlive
    userName = settings.user
    password = settings.passwordFile.map(MQTTSecret.file)
    publishWindow = settings.window
    connectTimeout = settings.connectTimeout
    backoffBase = settings.backoffBase
    backoffLimit = settings.backoffLimit
    sessionExpiryInterval = UInt32(clamping: settings.sessionExpiry)
    cleanStart = settings.sessionExpiry == 0
    if case .bursts(let interval, let linger) = settings.link {
      linkPolicy = .bursts(linger: linger, interval: interval)
    }
    tls = settings.tls.map(MQTTTLS.init)
  }
}

extension MQTTTLS {
  fileprivate init(_ settings: AgentConfiguration.MQTT.TLS) {
    var identity: Identity?
    if let certificate = settings.certificateFile, let key = settings.keyFile {
      identity = Identity(certificateFile: certificate, keyFile: key)
    }
    let trust: Trust =
      switch settings.trust {
      case .system: .system
      case .file(let path): .file(path)
      case .preSharedKey(let identity, let keyFile):
        .preSharedKey(identity: identity, key: .file(keyFile))
      }
    self.init(trust: trust, identity: identity)
    alpn = settings.alpn
    minimumVersion = settings.minimumVersion == "1.3" ? .tls13 : .tls12
  }
}
