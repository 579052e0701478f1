internal import Bytes
internal import Glibc
internal import Settings
internal import Telemetry

/// The configuration in force without secrets and positions.
package struct RedactedConfiguration {
  /// Keys whose values are part of a credential, or are positions.
  package static let secret: Set<String> = ["mqtt.user", "mqtt.psk_identity", "privacy.zones", "input.place"]
  /// Keys that name a file of a credential. A value that is not a path may be the credential itself.
  static let credentialFiles = RemoteKeys.files.subtracting(["mqtt.ca_file"])

  private let layers: ConfigurationLayers

  package init(_ layers: ConfigurationLayers) { self.layers = layers }

  /// Lines of `key = value`, with a mark for values set by a layer or by the preset; keys without a value are
  /// omitted.
  package var lines: [String] {
    let written = layers.written
    let preset = try? Preset(chosenBy: written).layer()
    return ConfigurationKey.all.compactMap { key in
      let setting = written.lazy.compactMap { $0[key.path] }.first
      guard let value = setting?.value ?? preset?[key.path]?.value ?? key.defaultValue else { return nil }
      let shown =
        Self.secret.contains(key.path)
        ? Self.hidden(value)
        : Self.credentialFiles.contains(key.path)
          ? Self.file(value) : Redaction.credentials(value.text)
      let mark = setting != nil ? "  # set" : preset?[key.path] != nil ? "  # preset" : ""
      return "\(key.path) = \(shown)\(mark)"
    }
  }

  /// Returns a placeholder for a secret value; for a file, with the reason if it is unreadable.
  private static func hidden(_ value: ConfigurationKey.Value) -> String {
    if case .texts(let texts) = value { "(\(texts.count) redacted)" } else { "(redacted)" }
  }

  private static func file(_ value: ConfigurationKey.Value) -> String {
    guard case .text(let path) = value, path.hasPrefix("/") else { return "(redacted: not an absolute path)" }
    return value.text + (access(path, R_OK) == 0 ? " (readable)" : " (not readable)")
  }
}

/// Removes secrets and positions from a text.
enum Redaction {
  /// Returns the text without credentials in addresses and without numbers as exact as a coordinate.
  static func text(_ text: String) -> String { withoutCoordinates(credentials(text)) }

  /// Returns the text without credentials in addresses: the part of `scheme://user:password@host` before the
  /// last `@` of the authority.
  static func credentials(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let scheme = rest.firstRange(ofText: "://") {
      result += rest[..<scheme.upperBound]
      rest = rest[scheme.upperBound...]
      let authority = rest.prefix { $0 != "/" && $0 != "\"" && $0 != " " && $0 != "," }
      guard let at = authority.lastIndex(of: "@") else { continue }
      result += "(redacted)"
      rest = rest[at...]
    }
    return result + rest
  }

  /// Removes numbers with four or more decimals, which locate a position to ten metres.
  private static func withoutCoordinates(_ text: String) -> String {
    var result: [UInt8] = []
    var digits: [UInt8] = []
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    func settle() {
      let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      let isExact = parts.count == 2 && parts[0].count <= 3 && !parts[0].isEmpty && parts[1].count >= 4
      result += isExact ? Array("(number)".utf8) : digits
      digits = []
    }
    for byte in text.utf8 {
      if isDigit(byte) || byte == UInt8(ascii: ".") && !digits.isEmpty {
        digits.append(byte)
      } else {
        settle()
        result.append(byte)
      }
    }
    settle()
    return String(decoding: result, as: UTF8.self)
  }
}
