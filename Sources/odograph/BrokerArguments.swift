internal import ArgumentParser
internal import FleetCore
internal import Glibc

/// How to reach the broker: the same for all commands. A flag goes before the environment.
struct BrokerArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The broker, as mqtt://[user@]host[:port] or, with TLS, mqtts://…  (ODOGRAPH_BROKER; default: localhost)",
      valueName: "url"))
  var broker: String?

  @Option(help: "The broker's host name or address, instead of --broker.")
  var host: String?

  @Option(help: "The broker's port (default: 1883, with TLS 8883).")
  var port: Int?

  @Option(help: "User name at the broker (ODOGRAPH_USER).")
  var user: String?

  @Option(
    help: ArgumentHelp(
      "A file with the password in its first line (ODOGRAPH_PASSWORD_FILE; the password itself: ODOGRAPH_PASSWORD).",
      valueName: "file"))
  var passwordFile: String?

  @Option(
    help: ArgumentHelp(
      "PEM file of the authorities to believe; turns TLS on (ODOGRAPH_CA; default: the system's).",
      valueName: "file"))
  var ca: String?

  @Option(
    help: ArgumentHelp(
      "PEM file of this client's certificate; turns TLS on (ODOGRAPH_CERT).", valueName: "file"))
  var cert: String?

  @Option(
    help: ArgumentHelp("PEM file of the certificate's private key (ODOGRAPH_KEY).", valueName: "file"))
  var key: String?

  @Flag(
    name: .customLong("mqtt-v311"),
    help: "Speak MQTT 3.1.1 only (default: 5, and 3.1.1 where 5 is not known).")
  var usesVersion311 = false

  @Option(
    help: ArgumentHelp(
      "Where the topics of all fleets begin (ODOGRAPH_ROOT; default: odograph/v1).", valueName: "topic"))
  var root: String?

  var topicRoot: String { root ?? environment("ODOGRAPH_ROOT") ?? FleetSelection().root }

  func options() throws(FleetError) -> BrokerOptions {
    if broker != nil, host != nil {
      throw FleetError(
        operation: "use", object: "--host", cause: "--broker names the host already; give one of them",
        exit: .usage)
    }
    var address = BrokerAddress.local
    if let host {
      // Through the same door as a URL, so that what is no host name is refused alike.
      address = try BrokerAddress(parsing: host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)
    } else if let text = broker ?? environment("ODOGRAPH_BROKER") {
      address = try BrokerAddress(parsing: text)
    }
    if let port {
      guard (1...65_535).contains(port) else {
        throw FleetError(
          operation: "use", object: "--port \(port)", cause: "a port is a number from 1 to 65535",
          exit: .usage)
      }
      address.port = port
    }
    var options = BrokerOptions(address: address)
    options.user = user ?? (address.user == nil ? environment("ODOGRAPH_USER") : nil)
    options.passwordFile = passwordFile ?? environment("ODOGRAPH_PASSWORD_FILE")
    options.password = environment("ODOGRAPH_PASSWORD")
    options.authorityFile = ca ?? environment("ODOGRAPH_CA")
    options.certificateFile = cert ?? environment("ODOGRAPH_CERT")
    options.keyFile = key ?? environment("ODOGRAPH_KEY")
    options.usesVersion311 = usesVersion311
    // TLS by a file alone means TLS's port too, where none is given.
    let wantsTLS = options.authorityFile != nil || options.certificateFile != nil
    if wantsTLS, !address.usesTLS, port == nil, !address.hasExplicitPort { options.address.port = 8883 }
    return options
  }
}

/// An environment variable that is set and not empty.
func environment(_ name: String) -> String? {
  guard let value = getenv(name) else { return nil }
  let text = String(cString: value)
  return text.isEmpty ? nil : text
}
