package import Fleet
internal import TOML
internal import Telemetry

/// What a person has written down once, so that it need not be typed again: a broker, how to be let in there, and which
/// fleet is usually meant. Nil is what is not said.
package struct Profile: Hashable, Sendable {
  /// The file and table that it is from, as in `/home/ann/.config/odograph/profile.toml [work]`.
  package var place = ""
  package var broker: String?
  package var user: String?
  /// Files: an absolute path, or one from the profile file's folder on; `~/` is the home folder.
  package var passwordFile: String?
  package var authorityFile: String?
  package var authorityFolder: String?
  package var certificateFile: String?
  package var keyFile: String?
  package var keyIdentity: String?
  package var sharedKeyFile: String?
  package var applicationProtocol: String?
  /// `1.2` or `1.3`.
  package var minimumTLS: String?
  /// `5` or `3.1.1`; nil takes what the broker knows.
  package var mqttProtocol: String?
  package var topicRoot: String?
  /// `native` or `owntracks`.
  package var messageProfile: String?
  package var fleets: [String] = []

  package init() {}

  init(place: String) { self.place = place }
}

extension Profile {
  /// A key of a profile: its name in the file, and where its value goes. The names are those of the agent's `[mqtt]`.
  struct Key: Sendable {
    enum Target: Sendable {
      case text(any WritableKeyPath<Profile, String?> & Sendable)
      case file(any WritableKeyPath<Profile, String?> & Sendable)
      case choice(any WritableKeyPath<Profile, String?> & Sendable, [String])
      case texts(any WritableKeyPath<Profile, [String]> & Sendable)
    }

    var name: String
    var target: Target
  }

  static let keys: [Key] = [
    Key(name: "broker", target: .text(\.broker)),
    Key(name: "user", target: .text(\.user)),
    Key(name: "password_file", target: .file(\.passwordFile)),
    Key(name: "ca_file", target: .file(\.authorityFile)),
    Key(name: "ca_folder", target: .file(\.authorityFolder)),
    Key(name: "certificate_file", target: .file(\.certificateFile)),
    Key(name: "key_file", target: .file(\.keyFile)),
    Key(name: "psk_identity", target: .text(\.keyIdentity)),
    Key(name: "psk_file", target: .file(\.sharedKeyFile)),
    Key(name: "alpn", target: .text(\.applicationProtocol)),
    Key(name: "tls_minimum", target: .choice(\.minimumTLS, ["1.2", "1.3"])),
    Key(name: "protocol", target: .choice(\.mqttProtocol, ["5", "3.1.1"])),
    Key(name: "topic_root", target: .text(\.topicRoot)),
    Key(
      name: "message_profile", target: .choice(\.messageProfile, MessageProfile.allCases.map(\.rawValue))),
    Key(name: "fleet", target: .texts(\.fleets)),
  ]
}

/// The file with a person's profiles: TOML, a table for each, of which `[default]` is used when none is named.
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
package struct ProfileFile: Sendable {
  package let path: String
  private let profiles: [String: Profile]

  package static let usualName = "default"

  /// Where it is when nobody says: `$XDG_CONFIG_HOME/odograph/profile.toml`, or below `~/.config`.
  /// - Parameter environment: returns a variable that is set and not empty.
  package static func usualPath(_ environment: (String) -> String?) -> String? {
    if let folder = environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/odograph/profile.toml"
    }
    return environment("HOME").map { $0 + "/.config/odograph/profile.toml" }
  }

  /// Reads a file; nil when there is none.
  /// - Parameter home: the home folder, for paths that begin with `~/`.
  /// - Throws: `FleetError` with file, line and column for what is wrong in it.
  package init?(path: String, home: String?) throws(FleetError) {
    let text: String
    do throws(TOMLError) {
      text = try TOMLFile.read(path)
    } catch {
      if error.kind == .missing { return nil }
      throw .usage("read", path, error.problem)
    }
    try self.init(text: text, path: path, home: home)
  }

  /// - Throws: `FleetError` with file, line and column for what is wrong in the text.
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
            "\(entry.keyPosition)", "key \(name) stands outside of a table; put [default] above it")
        }
        profiles[name] = Profile(place: "\(path) [\(name)]")
        continue
      }
      let key = entry.path.dropFirst().joined(separator: ".")
      guard let known = Profile.keys.first(where: { $0.name == key }) else {
        let names = Profile.keys.map(\.name)
        let hint =
          Spelling.nearest(to: key, among: names).map { "did you mean \($0)?" }
          ?? "there are \(names.joined(separator: ", "))"
        throw wrong("\(entry.keyPosition)", "unknown key \(key.prefix(80)); \(hint)")
      }
      if let problem = profiles[name]?.set(known, to: entry.value, folder: folder, home: home) {
        throw wrong("\(entry.position)", "key \(key): \(problem)")
      }
    }
    self.profiles = profiles
  }

  /// The profile of a name; of none, `default`, which need not be there.
  /// - Throws: `FleetError` for a name that is not in the file.
  package func profile(named name: String?) throws(FleetError) -> Profile? {
    guard let name else { return profiles[Self.usualName] }
    if let profile = profiles[name] { return profile }
    let names = profiles.keys.sorted().joined(separator: ", ")
    throw .usage(
      "use", "--profile \(name.prefix(80))",
      "\(path) has no [\(name.prefix(80))]; it has \(names.isEmpty ? "no profiles" : names)")
  }
}

extension Profile {
  /// Sets a key; returns what is wrong with the value when it does not fit.
  fileprivate mutating func set(_ key: Key, to value: TOMLValue, folder: String, home: String?) -> String? {
    let texts = value.texts ?? []
    var text: String? { if case .text(let text) = value, !text.isEmpty { text } else { nil } }
    switch key.target {
    case .text(let path):
      guard let text else { return "it is a text in quotes" }
      self[keyPath: path] = text
    case .choice(let path, let choices):
      guard let text, choices.contains(text) else {
        return "it is " + choices.map { "\"\($0)\"" }.joined(separator: " or ")
      }
      self[keyPath: path] = text
    case .file(let path):
      guard let text else { return "it is the path of a file, in quotes" }
      if text.hasPrefix("~/") {
        guard let home else { return "~ is not known here; write the whole path" }
        self[keyPath: path] = home + text.dropFirst()
      } else {
        self[keyPath: path] = text.hasPrefix("/") ? text : folder + "/" + text
      }
    case .texts(let path):
      guard !texts.isEmpty, texts != [""] else { return "it is a text in quotes, or a list of them" }
      self[keyPath: path] = texts
    }
    return nil
  }
}
