internal import Bytes
internal import MQTT
internal import Settings
internal import Telemetry

/// The configuration written by `odographd init`: name of the vehicle, preset, broker, and access to the broker.
package struct NewConfiguration: Sendable, Hashable {
  package let preset: String
  package let vehicle: String
  package let fleet: String
  package let broker: String
  /// The keys of `[mqtt]` that give access to the broker, with their values.
  private let access: [Access]

  /// An option of `odographd init` with the key of `[mqtt]` that it sets.
  package struct Access: Sendable, Hashable {
    package var option, key, value: String

    package init(_ option: String, _ key: String, _ value: String) {
      (self.option, self.key, self.value) = (option, key, value)
    }
  }

  /// The resulting configuration of the agent.
  package let configuration: AgentConfiguration

  /// - Parameters:
  ///   - broker: the address; a user before its @ becomes `mqtt.user`.
  ///   - access: the options for access to the broker, at most one of each key.
  ///   - environment: its variables override the file, as in the agent.
  /// - Throws: `ConfigurationError` whose place is the invalid option of `odographd init`, or the variable.
  package init(
    preset: String, vehicle: String, fleet: String, broker: String, access: [Access] = [],
    environment: [String: String] = [:]
  ) throws(ConfigurationError) {
    var (broker, access) = (broker, access)
    if let user = (try? BrokerAddress(parsing: broker))?.user, let at = broker.firstRange(ofText: "\(user)@")
    {
      guard !access.contains(where: { $0.key == "user" }) else {
        throw ConfigurationError(
          .conflict, place: "--user", problem: "--broker names a user, too; leave one of them out")
      }
      broker.removeSubrange(at)
      access.insert(Access("--broker", "user", user), at: 0)
    }
    (self.preset, self.vehicle, self.fleet, self.broker) = (preset, vehicle, fleet, broker)
    self.access = access
    var layer = ConfigurationLayer()
    for (option, path, text) in [
      ("--preset", "preset", preset), ("--vehicle", "vehicle.id", vehicle),
      ("--fleet", "vehicle.fleet", fleet), ("--broker", "mqtt.broker", broker),
    ] + access.map({ ($0.option, "mqtt.\($0.key)", $0.value) }) {
      guard let key = ConfigurationKey.byPath[path], let value = key.accept(.text(text)) else {
        let key = ConfigurationKey.byPath[path]
        throw ConfigurationError(
          .invalidValue, place: option,
          problem:
            "\"\(text.prefix(80))\" is not \(key?.accepted ?? "known")\(key?.hint(for: text) ?? "")")
      }
      layer[path] = ConfigurationLayer.Setting(value: value, place: option)
    }
    // Empty text of an option is that of a variable without a value.
    for setting in access where setting.value.isEmpty {
      throw ConfigurationError(
        .missingKey, place: setting.option, problem: "is empty; leave it out, or set it")
    }
    // An empty name is an error, because the agent would use the default fleet.
    guard !fleet.isEmpty else {
      throw ConfigurationError(.missingKey, place: "--fleet", problem: "is empty; leave it out, or name one")
    }
    configuration = try AgentConfiguration(
      layers: [try ConfigurationLayer(environment: environment), layer], file: nil,
      folders: AgentFolders(environment: environment))
  }

  /// Returns a warning for each file that the package's service cannot read.
  package var serviceFindings: [Finding] {
    access.compactMap { setting in
      guard setting.key != "user", let obstacle = ServiceCredentials.obstacle(setting.value) else {
        return nil
      }
      let name = setting.value.split(separator: "/").last ?? ""
      return Finding(
        .warning, setting.option, "\(setting.value): \(obstacle)",
        remedy: "copy it to \(ServiceCredentials.stored)\(name), and set mqtt.\(setting.key) to "
          + "\(ServiceCredentials.passed)\(name)")
    }
  }

  /// The options of `odograph` that correspond to the access, for another user than the vehicle.
  package var accessOptions: String {
    let options = [
      "user": "--user", "password_file": "--password-file", "certificate_file": "--cert", "key_file": "--key",
    ]
    return access.map { setting in
      options[setting.key].map { " \($0) …" } ?? (setting.key == "ca_file" ? " --ca \(setting.value)" : "")
    }.joined()
  }

  /// Checks one answer together with valid values of the other options. Returns the problem; nil if it is
  /// valid.
  static func problem(
    preset: String = Preset.usual.rawValue, vehicle: String = "v", broker: String = usualBroker
  ) -> String? {
    do throws(ConfigurationError) {
      _ = try NewConfiguration(preset: preset, vehicle: vehicle, fleet: usualFleet, broker: broker)
      return nil
    } catch { return error.problem }
  }

  package static let usualFleet = "default"
  static let usualBroker = "mqtt://127.0.0.1:1883"

  /// Returns the TOML file.
  ///
  /// - Parameter findings: results about receiver and sensors, added as comments.
  package func text(findings: [Finding]) -> String {
    let found =
      findings.isEmpty ? "" : "\n# Found by odographd init:\n" + findings.map { "#   \($0.line)\n" }.joined()
    return """
      # Written by odographd init. What is not set here is as the preset has it. Every key is explained in
      # Config/odograph.toml, which the package has as /usr/share/odographd/odograph.toml.reference.
      preset = \(Self.quoted(preset))

      [vehicle]
      fleet = \(Self.quoted(fleet))
      id = \(Self.quoted(vehicle))

      [mqtt]
      broker = \(Self.quoted(broker))

      """ + access.map { "\($0.key) = \(Self.quoted($0.value))\n" }.joined() + found
  }

  /// Returns a TOML basic string.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where scalar.value < 0x20 || scalar.value == 0x7f:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
