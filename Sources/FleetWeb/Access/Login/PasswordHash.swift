internal import CCrypt
package import Fleet
internal import Glibc

/// A stored password in yescrypt's text format, as created by `mkpasswd -m yescrypt` and used in the system's
/// shadow file.
package struct PasswordHash: Hashable, Sendable {
  package let text: String

  /// The maximum length of a password in bytes, limited by the C library.
  package static let longestPassword = Int(odograph_crypt_password_size) - 1

  /// The minimum length of a new password in characters (NIST SP 800-63B, 5.1.1.2).
  package static let shortestPassword = 8

  /// The yescrypt cost of new hashes: 32 MB and about 45 ms of one core. Debian's default is 5, half of that;
  /// each step doubles both, and the server should stay below 100 MB.
  static let cost: UInt = 6

  /// Parses a hash.
  ///
  /// - Throws: `FleetError` for a text that is not a yescrypt hash.
  package init(parsing text: String) throws(FleetError) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    let isAllowed = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard isAllowed, parts.count == 5, parts[0].isEmpty, parts[1] == "y",
      parts[2...].allSatisfy({ !$0.isEmpty }), text.utf8.count < Int(odograph_crypt_hash_size)
    else {
      throw .usage(
        "use", "a password's hash",
        "it is not a yescrypt hash ($y$…); make one with `odograph access password NAME` or `mkpasswd -m yescrypt`"
      )
    }
    self.text = text
  }

  /// Hashes a password. Slow, so it must not run on an event loop.
  /// - Throws: `FleetError` for a password that is too short or too long.
  package init(of password: String) throws(FleetError) {
    guard password.count >= Self.shortestPassword else {
      throw .usage("use", "the password", "it has fewer than \(Self.shortestPassword) characters")
    }
    guard password.utf8.count <= Self.longestPassword, !password.utf8.contains(0) else {
      throw .usage("use", "the password", "it has more than \(Self.longestPassword) bytes, or a zero byte")
    }
    var setting = [CChar](repeating: 0, count: Int(odograph_crypt_setting_size))
    guard unsafe odograph_crypt_setting(Self.cost, &setting) == 1,
      let hash = Self.hash(password, setting: Self.text(setting))
    else {
      throw FleetError(
        operation: "hash", object: "the password",
        cause: "the C library has no yescrypt, or is out of memory",
        kind: .outputFailed)
    }
    text = hash
  }

  /// Returns whether a password matches. Slow, so it must not run on an event loop.
  package func matches(_ password: String) -> Bool {
    // A zero byte would terminate the password in the C library.
    guard password.utf8.count <= Self.longestPassword, !password.utf8.contains(0),
      let hash = Self.hash(password, setting: text)
    else { return false }
    return SecretDigest(of: hash) == SecretDigest(of: text)
  }

  private static func hash(_ password: String, setting: String) -> String? {
    var hash = [CChar](repeating: 0, count: Int(odograph_crypt_hash_size))
    guard unsafe odograph_crypt(password, setting, &hash) == 1 else { return nil }
    return text(hash)
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
