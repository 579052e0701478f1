package import ArgumentParser
package import Fleet
internal import Glibc
package import MQTT
internal import Platform

/// The options for the connection to the broker, common to all commands. Options take precedence over the
/// environment, and the environment over the profile.
package struct BrokerArguments: ParsableArguments {
  package init() {}

  @Option(
    help: ArgumentHelp(
      "Table of the profile file with the options of this section (ODOGRAPH_PROFILE; default: [default], unless a broker is given).",
      valueName: "name"))
  package var profile: String?

  @Option(
    help: ArgumentHelp(
      "The profile file (ODOGRAPH_PROFILE_FILE; default: ~/.config/odograph/profile.toml).", valueName: "file"
    ), completion: .file(extensions: ["toml"]))
  var profileFile: String?

  @Option(
    help: ArgumentHelp(
      "The broker, as mqtt://[user@]host[:port], or mqtts:// for TLS; for a cluster all nodes, separated by commas (ODOGRAPH_BROKER; default: localhost).",
      valueName: "url"))
  package var broker: String?

  @Option(help: "The broker's host name or address, instead of --broker.")
  package var host: String?

  @Option(parsing: .unconditional, help: "The broker's port (default: 1883, with TLS 8883).")
  package var port: Int?

  @Option(help: "User name at the broker (ODOGRAPH_USER).")
  package var user: String?

  @Option(
    help: ArgumentHelp(
      "A file with the password in its first line (ODOGRAPH_PASSWORD_FILE; the password itself: ODOGRAPH_PASSWORD).",
      valueName: "file"), completion: .file())
  var passwordFile: String?

  @Option(
    help: ArgumentHelp(
      "PEM file of trusted authorities; enables TLS (ODOGRAPH_CA; default: the system's).",
      valueName: "file"), completion: .file())
  package var ca: String?

  @Option(
    help: ArgumentHelp(
      "Folder of trusted authorities, as openssl rehash creates it; enables TLS (ODOGRAPH_CA_FOLDER).",
      valueName: "folder"), completion: .directory)
  var caFolder: String?

  @Option(
    help: ArgumentHelp(
      "PEM file of this client's certificate; enables TLS (ODOGRAPH_CERT).", valueName: "file"),
    completion: .file())
  package var cert: String?

  @Option(
    help: ArgumentHelp("PEM file of the certificate's private key (ODOGRAPH_KEY).", valueName: "file"),
    completion: .file())
  package var key: String?

  @Option(
    help: ArgumentHelp(
      "Identity of a pre-shared key, instead of certificates; enables TLS (ODOGRAPH_PSK_IDENTITY).",
      valueName: "name"))
  var pskIdentity: String?

  @Option(
    help: ArgumentHelp(
      "File with the pre-shared key in hexadecimal digits (ODOGRAPH_PSK_FILE).", valueName: "file"),
    completion: .file())
  var pskFile: String?

  @Option(
    help: ArgumentHelp("Application protocol to request with TLS (ODOGRAPH_ALPN).", valueName: "name"))
  package var alpn: String?

  @Option(
    help: ArgumentHelp("Minimum TLS version: 1.2 or 1.3 (default: 1.2).", valueName: "version"),
    completion: .list(["1.2", "1.3"]))
  var tlsMinimum: String?

  @Flag(
    name: .customLong("mqtt-v311"),
    help: "Use MQTT 3.1.1 only (default: 5, or 3.1.1 if the broker does not support 5).")
  var usesVersion311 = false

  @Option(
    help: ArgumentHelp(
      "Topic prefix of all fleets (ODOGRAPH_ROOT; default: odograph/v1).", valueName: "topic"))
  package var root: String?

  package var topicRoot: String {
    // An invalid profile is ignored here, because every command also calls `configuration()`, which reports
    // it.
    root ?? environment("ODOGRAPH_ROOT") ?? (try? usedProfile())?[.topicRoot] ?? FleetSelection().root
  }

  /// Returns the given fleets, otherwise those of the profile; empty for all fleets.
  package func fleets(_ given: [String]) -> [String] {
    given.isEmpty ? (try? usedProfile())?.fleets ?? [] : given
  }

  /// Returns the MQTT configuration.
  /// - Throws: `FleetError` for invalid or contradictory options, and for an invalid profile.
  package func configuration() throws(FleetError) -> MQTTConfiguration {
    if broker != nil, host != nil {
      throw .usage("use", "--host", "--broker names the host already; give one of them")
    }
    let profile = try usedProfile()
    var nodes = try addresses(profile)
    var address = nodes.removeFirst()
    let authorities = try trust(profile)
    let certificates = try pair(
      (cert ?? environment("ODOGRAPH_CERT") ?? profile?[.certificateFile], "--cert"),
      (key ?? environment("ODOGRAPH_KEY") ?? profile?[.keyFile], "--key"), "a certificate and its key")
    // TLS implied by a certificate file also changes the default port.
    if authorities != nil || certificates != nil { address.usesTLS = true }
    func node(_ own: BrokerAddress) -> MQTTConfiguration.Broker {
      let usual = address.usesTLS ? 8883 : 1883
      return .init(host: own.host, port: port ?? (own.hasExplicitPort ? own.port : usual))
    }
    var configuration = MQTTConfiguration.consumer(of: address)
    configuration.brokers = [node(address)]
    configuration.add(nodes: nodes.map(node))
    configuration.userName =
      user ?? address.user ?? environment("ODOGRAPH_USER") ?? profile?[.user]
    configuration.password = secret(profile)
    if usesVersion311 || profile?[.mqttProtocol] == "3.1.1" { configuration.protocolVersion = .v311 }
    let version = try minimumTLS(profile)
    guard address.usesTLS else { return configuration }
    var tls = MQTTTLS(trust: authorities ?? .system)
    tls.identity = certificates.map { .init(certificateFile: $0, keyFile: $1) }
    tls.alpn = alpn ?? environment("ODOGRAPH_ALPN") ?? profile?[.applicationProtocol]
    tls.minimumVersion = version
    configuration.tls = tls
    return configuration
  }

  func minimumTLS(_ profile: Profile?) throws(FleetError) -> MQTTTLS.Version {
    let version = tlsMinimum ?? profile?[.minimumTLS] ?? "1.2"
    guard ["1.2", "1.3"].contains(version) else {
      throw .usage("use", "--tls-minimum \(version)", "must be 1.2 or 1.3")
    }
    return version == "1.3" ? .tls13 : .tls12
  }

  func secret(_ profile: Profile?) -> MQTTSecret? {
    let (secret, secretFile) = (environment("ODOGRAPH_PASSWORD"), environment("ODOGRAPH_PASSWORD_FILE"))
    if let file = passwordFile ?? secretFile ?? (secret == nil ? profile?[.passwordFile] : nil) {
      return .file(file)
    }
    return secret.map { .value($0) }
  }

  /// Returns the trusted certificates; nil if none are configured. Those of the profile are used only if no
  /// option or environment variable names any.
  func trust(_ profile: Profile?) throws(FleetError) -> MQTTTLS.Trust? {
    var file = ca ?? environment("ODOGRAPH_CA")
    var folder = caFolder ?? environment("ODOGRAPH_CA_FOLDER")
    var identity = pskIdentity ?? environment("ODOGRAPH_PSK_IDENTITY")
    if file == nil, folder == nil, identity == nil {
      (file, folder, identity) = (
        profile?[.authorityFile], profile?[.authorityFolder], profile?[.keyIdentity]
      )
    }
    let keyFile =
      pskFile ?? environment("ODOGRAPH_PSK_FILE") ?? (identity == nil ? nil : profile?[.sharedKeyFile])
    let sharedKey = try pair(
      (identity, "--psk-identity"), (keyFile, "--psk-file"), "a shared key and its name")
    let ways: [MQTTTLS.Trust] = [
      file.map { .file($0) }, folder.map { .directory($0) },
      sharedKey.map { .preSharedKey(identity: $0, key: .file($1)) },
    ].compactMap { $0 }
    guard ways.count <= 1 else {
      throw .usage(
        "use", "--ca, --ca-folder and --psk-identity", "each names trusted authorities; use only one of them")
    }
    return ways.first
  }

  /// Returns the values of two options that require each other; nil if both are missing.
  func pair(
    _ a: (value: String?, option: String), _ b: (value: String?, option: String), _ what: String
  ) throws(FleetError) -> (String, String)? {
    if let first = a.value, let second = b.value { return (first, second) }
    guard a.value == nil, b.value == nil else {
      throw .usage("use", a.value == nil ? b.option : a.option, "\(what) go together; give both")
    }
    return nil
  }

  /// Returns the address of the broker, or of the nodes of a cluster; never empty. The first address
  /// determines user and TLS.
  private func addresses(_ profile: Profile?) throws(FleetError) -> [BrokerAddress] {
    if let port, !(1...65_535).contains(port) {
      throw .usage("use", "--port \(port)", "the port must be a number from 1 to 65535")
    }
    if let host {
      // Parsed like a URL, so that invalid host names are rejected in the same way.
      return [try Self.address(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)]
    }
    guard let text = broker ?? environment("ODOGRAPH_BROKER") ?? profile?[.broker] else { return [.local] }
    var addresses: [BrokerAddress] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      if !addresses.isEmpty, part.contains("://") || part.contains("@") {
        throw .usage(
          "use", "\(part.prefix(100))",
          "write scheme and user only before the first node, for example mqtts://a.example,b.example:8884")
      }
      addresses.append(try Self.address(String(part)))
    }
    return addresses
  }

  private static func address(_ text: String) throws(FleetError) -> BrokerAddress {
    do throws(OperationError) { return try BrokerAddress(parsing: text) } catch { throw FleetError(error) }
  }

  /// Returns the profile for missing options. If a broker is given, the default profile is not used, because
  /// its password is for another broker.
  func usedProfile() throws(FleetError) -> Profile? {
    let name = profile ?? environment("ODOGRAPH_PROFILE")
    let isBrokerGiven = broker != nil || host != nil || environment("ODOGRAPH_BROKER") != nil
    if name == nil, isBrokerGiven { return nil }
    let given = profileFile ?? environment("ODOGRAPH_PROFILE_FILE")
    guard let path = given ?? ProfileFile.usualPath(environment) else { return nil }
    guard let file = try ProfileFile(path: path, home: environment("HOME")) else {
      guard name != nil || given != nil else { return nil }
      throw .usage(
        "read", path,
        "no such file; write [\(name ?? ProfileFile.usualName)] and broker = \"mqtt://…\" into it")
    }
    return try file.profile(named: name)
  }
}
