package import ArgumentParser
package import Fleet
internal import Glibc
internal import MQTT

/// How to reach the broker: the same for all commands. A flag goes before the environment, and that before the profile.
package struct BrokerArguments: ParsableArguments {
  package init() {}

  @Option(
    help: ArgumentHelp(
      "The table of the profile file to take what follows from (ODOGRAPH_PROFILE; default: [default], where the broker is not given otherwise).",
      valueName: "name"))
  package var profile: String?

  @Option(
    help: ArgumentHelp(
      "The profile file (ODOGRAPH_PROFILE_FILE; default: ~/.config/odograph/profile.toml).", valueName: "file"
    ))
  package var profileFile: String?

  @Option(
    help: ArgumentHelp(
      "The broker, as mqtt://[user@]host[:port], or mqtts:// for TLS (ODOGRAPH_BROKER; default: localhost).",
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
      valueName: "file"))
  package var passwordFile: String?

  @Option(
    help: ArgumentHelp(
      "PEM file of the authorities to believe; turns TLS on (ODOGRAPH_CA; default: the system's).",
      valueName: "file"))
  package var ca: String?

  @Option(
    help: ArgumentHelp(
      "Folder of authorities to believe, as openssl rehash makes it; turns TLS on (ODOGRAPH_CA_FOLDER).",
      valueName: "folder"))
  package var caFolder: String?

  @Option(
    help: ArgumentHelp(
      "PEM file of this client's certificate; turns TLS on (ODOGRAPH_CERT).", valueName: "file"))
  package var cert: String?

  @Option(
    help: ArgumentHelp("PEM file of the certificate's private key (ODOGRAPH_KEY).", valueName: "file"))
  package var key: String?

  @Option(
    help: ArgumentHelp(
      "Name of a key that both sides know, instead of certificates; turns TLS on (ODOGRAPH_PSK_IDENTITY).",
      valueName: "name"))
  package var pskIdentity: String?

  @Option(
    help: ArgumentHelp("A file with that key in hexadecimal digits (ODOGRAPH_PSK_FILE).", valueName: "file"))
  package var pskFile: String?

  @Option(
    help: ArgumentHelp("The application protocol to ask for with TLS (ODOGRAPH_ALPN).", valueName: "name"))
  package var alpn: String?

  @Option(
    help: ArgumentHelp("The oldest TLS to speak: 1.2 or 1.3 (default: 1.2).", valueName: "version"))
  package var tlsMinimum: String?

  @Flag(
    name: .customLong("mqtt-v311"),
    help: "Speak MQTT 3.1.1 only (default: 5, and 3.1.1 where 5 is not known).")
  package var usesVersion311 = false

  @Option(
    help: ArgumentHelp(
      "Where the topics of all fleets begin (ODOGRAPH_ROOT; default: odograph/v1).", valueName: "topic"))
  package var root: String?

  package var topicRoot: String {
    // What is wrong with the profile is told by `options()`, which every command asks too.
    root ?? environment("ODOGRAPH_ROOT") ?? (try? usedProfile())?.topicRoot ?? FleetSelection().root
  }

  /// The fleets that are meant: those given, else the profile's, else all.
  package func fleets(_ given: [String]) -> [String] {
    given.isEmpty ? (try? usedProfile())?.fleets ?? [] : given
  }

  package func options() throws(FleetError) -> BrokerOptions {
    if broker != nil, host != nil {
      throw .usage("use", "--host", "--broker names the host already; give one of them")
    }
    let profile = try usedProfile()
    var options = BrokerOptions(address: try address(profile))
    options.user = user ?? (options.address.user == nil ? environment("ODOGRAPH_USER") ?? profile?.user : nil)
    options.passwordFile = passwordFile ?? environment("ODOGRAPH_PASSWORD_FILE")
    options.password = environment("ODOGRAPH_PASSWORD")
    if options.password == nil { options.passwordFile = options.passwordFile ?? profile?.passwordFile }
    options.authorityFile = ca ?? environment("ODOGRAPH_CA")
    options.authorityFolder = caFolder ?? environment("ODOGRAPH_CA_FOLDER")
    options.sharedKeyIdentity = pskIdentity ?? environment("ODOGRAPH_PSK_IDENTITY")
    if options.authorityFile == nil, options.authorityFolder == nil, options.sharedKeyIdentity == nil {
      options.authorityFile = profile?.authorityFile
      options.authorityFolder = profile?.authorityFolder
      options.sharedKeyIdentity = profile?.keyIdentity
    }
    options.sharedKeyFile =
      pskFile ?? environment("ODOGRAPH_PSK_FILE")
      ?? (options.sharedKeyIdentity == nil ? nil : profile?.sharedKeyFile)
    options.certificateFile = cert ?? environment("ODOGRAPH_CERT") ?? profile?.certificateFile
    options.keyFile = key ?? environment("ODOGRAPH_KEY") ?? profile?.keyFile
    options.applicationProtocol = alpn ?? environment("ODOGRAPH_ALPN") ?? profile?.applicationProtocol
    switch tlsMinimum ?? profile?.minimumTLS ?? "1.2" {
    case "1.2": options.minimumTLS = .tls12
    case "1.3": options.minimumTLS = .tls13
    default:
      throw .usage("use", "--tls-minimum \(tlsMinimum ?? "")", "it is 1.2 or 1.3")
    }
    options.usesVersion311 = usesVersion311 || profile?.mqttProtocol == "3.1.1"
    // TLS by a file alone means TLS's port too, where none is given.
    if options.mentionsTLS, !options.address.usesTLS, port == nil, !options.address.hasExplicitPort {
      options.address.port = 8883
    }
    return options
  }

  private func address(_ profile: Profile?) throws(FleetError) -> BrokerAddress {
    var address = BrokerAddress.local
    if let host {
      // Through the same door as a URL, so that what is no host name is refused alike.
      address = try BrokerAddress(parsing: host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)
    } else if let text = broker ?? environment("ODOGRAPH_BROKER") ?? profile?.broker {
      address = try BrokerAddress(parsing: text)
    }
    if let port {
      guard (1...65_535).contains(port) else {
        throw .usage("use", "--port \(port)", "a port is a number from 1 to 65535")
      }
      address.port = port
    }
    return address
  }

  /// The profile to fill in what is not said otherwise. A broker that is given leaves the unnamed profile aside: one
  /// broker's password is not for another.
  package func usedProfile() throws(FleetError) -> Profile? {
    let name = profile ?? environment("ODOGRAPH_PROFILE")
    let isBrokerGiven = broker != nil || host != nil || environment("ODOGRAPH_BROKER") != nil
    if name == nil, isBrokerGiven { return nil }
    let given = profileFile ?? environment("ODOGRAPH_PROFILE_FILE")
    guard let path = given ?? ProfileFile.usualPath(environment) else { return nil }
    guard let file = try ProfileFile(path: path, home: environment("HOME")) else {
      guard name != nil || given != nil else { return nil }
      throw .usage(
        "read", path,
        "there is no such file; write [\(name ?? ProfileFile.usualName)] and broker = \"mqtt://…\" into it")
    }
    return try file.profile(named: name)
  }
}

/// An environment variable that is set and not empty.
package func environment(_ name: String) -> String? {
  guard let value = unsafe getenv(name) else { return nil }
  let text = unsafe String(cString: value)
  return text.isEmpty ? nil : text
}
