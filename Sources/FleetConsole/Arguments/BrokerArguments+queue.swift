package import Fleet
package import MQTT

/// What of the options for a broker is meant for a cluster's queue, too: who one is, and whom to believe.
extension BrokerArguments {
  /// - Parameters:
  ///   - usesTLS: what the address says of it.
  ///   - addressUser: who the address says one is.
  /// - Throws: `FleetError` for options that contradict one another or the address, and those that only MQTT has.
  package func queueCredentials(
    usesTLS: Bool, user addressUser: String?
  ) throws(FleetError) -> (tls: MQTTTLS?, user: String?, password: MQTTSecret?) {
    let wrong: [(isGiven: Bool, option: String)] = [
      (host != nil, "--host"), (port != nil, "--port"), (usesVersion311, "--mqtt-v311"),
      (alpn != nil, "--alpn"),
      (pskIdentity != nil, "--psk-identity"), (pskFile != nil, "--psk-file"),
    ]
    if let option = wrong.first(where: \.isGiven)?.option {
      throw .usage("use", option, "it is for MQTT, and --from names a queue of AMQP; leave it out")
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
          ? "there is neither a user nor a certificate; give --user with --password-file, or --cert with --key"
          : "there is no password for the user; put it into a file and give --password-file")
    }
    var tls = usesTLS ? MQTTTLS(trust: authorities ?? .system) : nil
    tls?.identity = certificates.map { .init(certificateFile: $0, keyFile: $1) }
    tls?.minimumVersion = version
    // The certificate says who this is where no password does.
    return password == nil || user == nil ? (tls, nil, nil) : (tls, user, password)
  }
}
