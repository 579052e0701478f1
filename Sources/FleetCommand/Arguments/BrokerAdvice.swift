package import ArgumentParser
package import Fleet
internal import MQTT

/// The options of a command that connects to the broker.
package protocol BrokerOptions: ParsableArguments {
  var broker: BrokerArguments { get }
}

extension BrokerOptions {
  /// Returns advice for a failed command, one sentence per element; empty unless the connection to the broker
  /// caused the failure.
  package func advice(on error: FleetError) -> [String] { error.link.map { broker.advice(on: $0) } ?? [] }
}

extension BrokerArguments {
  /// Returns advice for a command that cannot connect: the origin of the broker's address, and the next steps
  /// if no broker answers at this address.
  package func advice(on failure: FleetError.LinkFailure) -> [String] {
    guard let configuration = try? configuration() else { return [] }
    let profile = try? usedProfile()
    let origin =
      if host != nil {
        "from --host"
      } else if broker != nil {
        "from --broker"
      } else if environment("ODOGRAPH_BROKER") != nil {
        "from ODOGRAPH_BROKER"
      } else if profile?[.broker] != nil {
        "from the profile"
      } else {
        "the default"
      }
    let path = profileFile ?? environment("ODOGRAPH_PROFILE_FILE") ?? ProfileFile.usualPath(environment)
    let file = path ?? "~/.config/odograph/profile.toml"
    let used: String
    if let profile {
      used = "profile: \(profile.place)"
    } else if origin.hasPrefix("from") {
      used = "no profile is used"
    } else if (try? path.map { try ProfileFile(path: $0, home: nil) }) ?? nil != nil {
      used = "no profile: \(file) has no [\(ProfileFile.usualName)]"
    } else {
      used = "no profile: \(file) does not exist"
    }
    let address = "the address \(configuration.brokerName) is \(origin); \(used)"
    guard failure == .unreachable else { return [address] }
    var steps = ["name another with --broker mqtt://HOST"]
    let first = configuration.brokers[0]
    if configuration.brokers.count == 1, configuration.tls == nil, first.isThisMachine {
      steps.insert("start a broker with: mosquitto -p \(first.port)", at: 0)
    }
    steps.append(
      profile.map { "change the key broker of \($0.place)" }
        ?? "write [\(ProfileFile.usualName)] and broker = \"mqtt://HOST\" into \(file)")
    return [address, "next steps: " + steps.joined(separator: "; or ")]
  }
}

extension MQTTConfiguration.Broker {
  /// True for a name or an address of this machine.
  fileprivate var isThisMachine: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
