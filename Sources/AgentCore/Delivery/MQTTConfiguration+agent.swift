internal import MQTT

extension MQTTConfiguration {
  /// What the agent's configuration means to the MQTT client.
  init(_ settings: AgentConfiguration.MQTT) {
    self.init(brokers: [Broker(host: settings.host, port: settings.port)], clientID: settings.clientID)
    protocolVersion = settings.isVersion5 ? .automatic : .v311
    keepAlive = settings.keepAlive
    userName = settings.user
    password = settings.passwordFile.map(MQTTSecret.file)
    guard settings.usesTLS else { return }
    var identity: MQTTTLS.Identity?
    if let certificate = settings.certificateFile, let key = settings.keyFile {
      identity = MQTTTLS.Identity(certificateFile: certificate, keyFile: key)
    }
    tls = MQTTTLS(trust: settings.caFile.map(MQTTTLS.Trust.file) ?? .system, identity: identity)
  }
}
