internal import Bytes
internal import Fleet
internal import TOML
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
  private var texts: [Key: String] = [:]
  private(set) var fleets: [String] = []

  init(place: String) { self.place = place }

  /// The value of a key; nil if missing. Paths of files are absolute, or relative to the working folder.
  subscript(key: Key) -> String? { texts[key] }

  /// Sets a key; returns the error for an invalid value.
  /// - Parameters:
  ///   - folder: the folder of the profile file, to which paths are relative.
  ///   - home: the home folder for paths that start with `~/`.
  fileprivate mutating func set(_ key: Key, to value: TOMLValue, folder: String, home: String?) -> String? {
    var text: String? { if case .text(let text) = value, !text.isEmpty { text } else { nil } }
    let choices: [String]
    switch key {
    case .fleet:
      guard let names = value.texts, !names.isEmpty, names != [""] else {
        return "must be a text in quotes, or a list of them"
      }
      fleets = names
      return nil
    case .passwordFile, .authorityFile, .authorityFolder, .certificateFile, .keyFile, .sharedKeyFile:
      guard let text else { return "must be the path of a file, in quotes" }
      guard text.hasPrefix("~/") else {
        texts[key] = text.hasPrefix("/") ? text : folder + "/" + text
        return nil
      }
      guard let home else { return "HOME is not set, so ~ is unknown; write the whole path" }
      texts[key] = home + text.dropFirst()
      return nil
    case .minimumTLS: choices = ["1.2", "1.3"]
    case .mqttProtocol: choices = ["5", "3.1.1"]
    case .messageProfile: choices = MessageProfile.allCases.map(\.rawValue)
    case .broker, .user, .keyIdentity, .applicationProtocol, .topicRoot:
      guard let text else { return "must be a text in quotes" }
      texts[key] = text
      return nil
    }
    guard let text, choices.contains(text) else {
      return "it is " + choices.map { "\"\($0)\"" }.joined(separator: " or ")
    }
    texts[key] = text
    return nil
  }
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
    let text: String
    do throws(TOMLError) {
      text = try TOMLFile.read(path)
    } catch {
      if error.kind == .missing { return nil }
      throw .usage("read", path, error.problem)
    }
    try self.init(text: text, path: path, home: home)
  }

  /// Parses the text of a file.
  ///
  /// - Throws: `FleetError` with file, line and column of an error.
  init(text: String, path: String, home: String?) throws(FleetError) {
    self.path = path
    func wrong(_ place: String, _ cause: String) -> FleetError {
      FleetError.usage("use", "\(path):\(place)", cause)
    }
    let document: TOMLDocument
    do throws(TOMLError) {
      document = try TOMLDocument(parsing: text)
    } catch {
      throw wrong(error.place, error.problem)
    }
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    var profiles: [String: Profile] = [:]
    for entry in document.entries {
      let name = entry.path[0]
      guard entry.path.count > 1 else {
        guard entry.value == .table else {
          throw wrong(
            "\(entry.keyPosition)", "key \(name) is outside a table; put [default] above it")
        }
        profiles[name] = Profile(place: "\(path) [\(name)]")
        continue
      }
      let key = entry.path.dropFirst().joined(separator: ".")
      guard let known = Profile.Key(rawValue: key) else {
        let names = Profile.Key.allCases.map(\.rawValue)
        let hint =
          Spelling.nearest(to: key, among: names).map { "did you mean \($0)?" }
          ?? "available: \(names.joined(separator: ", "))"
        throw wrong("\(entry.keyPosition)", "unknown key \(key.prefix(80)); \(hint)")
      }
      if let problem = profiles[name]?.set(known, to: entry.value, folder: folder, home: home) {
        throw wrong("\(entry.position)", "key \(key): \(problem)")
      }
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
