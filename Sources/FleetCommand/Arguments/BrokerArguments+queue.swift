package import Fleet
package import MQTT

/// The broker options that also apply to a queue of a cluster: credentials and trusted certificates.
extension BrokerArguments {
  /// Returns the credentials.
  ///
  /// - Parameters:
  ///   - usesTLS: true if the address requires TLS.
  ///   - addressUser: the user in the address.
  /// - Throws: `FleetError` for options that contradict each other or the address, and for those that only
  ///   MQTT supports.
  package func queueCredentials(
    usesTLS: Bool, user addressUser: String?
  ) throws(FleetError) -> (tls: MQTTTLS?, user: String?, password: MQTTSecret?) {
    let wrong: [(isGiven: Bool, option: String)] = [
      (host != nil, "--host"), (port != nil, "--port"), (usesVersion311, "--mqtt-v311"),
      (alpn != nil, "--alpn"),
      (pskIdentity != nil, "--psk-identity"), (pskFile != nil, "--psk-file"),
    ]
    if let option = wrong.first(where: \.isGiven)?.option {
      throw .usage("use", option, "applies to MQTT only, and --from names an AMQP queue; leave it out")
    }
    let profile = try usedProfile()
    let authorities = try trust(profile)
    if case .preSharedKey? = authorities {
      throw .usage("use", "a shared key", "AMQP has none; give --ca, and --cert with --key")
    }
    let certificates = try pair(
      (cert ?? environment("ODOGRAPH_CERT") ?? profile?[.certificateFile], "--cert"),
      (key ?? environment("ODOGRAPH_KEY") ?? profile?[.keyFile], "--key"), "a certificate and its key")
    let version = try minimumTLS(profile)
    guard usesTLS || (authorities == nil && certificates == nil) else {
      throw .usage(
        "use", authorities == nil ? "--cert" : "--ca", "amqp:// speaks plain text; write amqps:// for TLS")
    }
    let password = secret(profile)
    let user = self.user ?? addressUser ?? environment("ODOGRAPH_USER") ?? profile?[.user]
    if user == nil || password == nil, certificates == nil {
      throw .usage(
        "log in", "at the queue",
        user == nil
          ? "a user or a certificate is required; give --user with --password-file, or --cert with --key"
          : "the user has no password; put it into a file and give --password-file")
    }
    var tls = usesTLS ? MQTTTLS(trust: authorities ?? .system) : nil
    tls?.identity = certificates.map { .init(certificateFile: $0, keyFile: $1) }
    tls?.minimumVersion = version
    // Without a user or a password, the client certificate authenticates.
    return password == nil || user == nil ? (tls, nil, nil) : (tls, user, password)
  }
}
