internal import Fleet
internal import FleetProgram
internal import Telemetry

/// A connection profile of the user: a broker, its credentials and the default fleet.
struct Profile: Hashable, Sendable {
  /// A key in the profile file. The names are those of the agent's `[mqtt]`.
  enum Key: String, CaseIterable, Sendable {
    case broker
    case user
    case passwordFile = "password_file"
    case authorityFile = "ca_file"
    case authorityFolder = "ca_folder"
    case certificateFile = "certificate_file"
    case keyFile = "key_file"
    case keyIdentity = "psk_identity"
    case sharedKeyFile = "psk_file"
    case applicationProtocol = "alpn"
    case minimumTLS = "tls_minimum"
    /// The protocol version; nil to negotiate it with the broker.
    case mqttProtocol = "protocol"
    case topicRoot = "topic_root"
    case messageProfile = "message_profile"
    case fleet
  }

  /// The file and table, such as `/home/ann/.config/odograph/profile.toml [work]`.
  let place: String
  private let texts: [Key: String]
  let fleets: [String]

  /// Reads a table of the profile file.
  /// - Parameters:
  ///   - file: the path of the profile file.
  ///   - home: the home folder for paths that start with `~/`.
  fileprivate init(_ table: SettingsTable, of file: String, home: String?) throws(FleetError) {
    place = "\(file) [\(table.name)]"
    var texts: [Key: String] = [:]
    for key in Key.allCases where key != .fleet {
      texts[key] =
        switch key {
        case .passwordFile, .authorityFile, .authorityFolder, .certificateFile, .keyFile, .sharedKeyFile:
          try table.file(key.rawValue, home: home)
        case .minimumTLS: try table.text(key.rawValue, among: ["1.2", "1.3"])
        case .mqttProtocol: try table.text(key.rawValue, among: ["5", "3.1.1"])
        case .messageProfile: try table.text(key.rawValue, among: MessageProfile.allCases.map(\.rawValue))
        default: try table.text(key.rawValue)
        }
    }
    self.texts = texts
    let fleets = try table.texts(Key.fleet.rawValue)
    guard fleets != [] else {
      throw table.wrong(Key.fleet.rawValue, "must be a text in quotes, or a list of them")
    }
    self.fleets = fleets ?? []
  }

  /// The value of a key; nil if missing. Paths of files are absolute, or relative to the working folder.
  subscript(key: Key) -> String? { texts[key] }
}

/// The file with the user's profiles: TOML with a table for each profile. `[default]` is used if none is
/// named.
///
/// ```toml
/// [default]
/// broker = "mqtt://localhost"
///
/// [work]
/// broker = "mqtts://broker.example"
/// user = "ann"
/// password_file = "work-password"
/// fleet = "delivery"
/// ```
struct ProfileFile: Sendable {
  let path: String
  private let profiles: [String: Profile]

  static let usualName = "default"

  /// Returns the default path: `$XDG_CONFIG_HOME/odograph/profile.toml`, or below `~/.config`.
  /// - Parameter environment: returns a variable that is set and not empty.
  static func usualPath(_ environment: (String) -> String?) -> String? {
    if let folder = environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/odograph/profile.toml"
    }
    return environment("HOME").map { $0 + "/.config/odograph/profile.toml" }
  }

  /// Reads a file; nil if it does not exist.
  /// - Parameter home: the home folder for paths that start with `~/`.
  /// - Throws: `FleetError` with file, line and column of an error.
  init?(path: String, home: String?) throws(FleetError) {
    guard let file = try SettingsFile(optional: path) else { return nil }
    try self.init(file, home: home)
  }

  /// Parses the text of a file.
  ///
  /// - Throws: `FleetError` with file, line and column of an error.
  init(text: String, path: String, home: String?) throws(FleetError) {
    try self.init(SettingsFile(text: text, path: path) { _ in nil }, home: home)
  }

  private init(_ file: SettingsFile, home: String?) throws(FleetError) {
    path = file.path
    var profiles: [String: Profile] = [:]
    for table in try file.tables(keys: Profile.Key.allCases.map(\.rawValue), example: Self.usualName) {
      profiles[table.name] = try Profile(table, of: file.path, home: home)
    }
    self.profiles = profiles
  }

  /// Returns the profile with a name, or `default`, which can be missing.
  /// - Throws: `FleetError` for a name that is not in the file.
  func profile(named name: String?) throws(FleetError) -> Profile? {
    guard let name else { return profiles[Self.usualName] }
    if let profile = profiles[name] { return profile }
    let names = profiles.keys.sorted().joined(separator: ", ")
    throw .usage(
      "use", "--profile \(name.prefix(80))",
      "\(path) has no [\(name.prefix(80))]; it has \(names.isEmpty ? "no profiles" : names)")
  }
}
