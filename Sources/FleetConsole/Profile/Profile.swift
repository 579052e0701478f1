internal import Fleet

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
