internal import Bytes
internal import Glibc
internal import Telemetry

/// The configuration in force as it may be shown to strangers: no credentials, nothing that leads to one, and no place that
/// its owner wants to keep to himself.
struct RedactedConfiguration {
  /// Keys whose values are not shown, because they are a credential, name one, or are mistaken for one's place.
  static let secret: Set<String> = [
    "mqtt.user", "mqtt.password_file", "mqtt.psk_identity", "mqtt.psk_file", "mqtt.key_file",
    "mqtt.certificate_file", "privacy.zones", "simulation.seed",
  ]

  private let layers: ConfigurationLayers

  init(_ layers: ConfigurationLayers) { self.layers = layers }

  /// `key = value`, with a mark where something written or the preset sets it; keys without a value are left out.
  var lines: [String] {
    let written = layers.written
    let preset = try? Preset(chosenBy: written).layer()
    return ConfigurationKey.all.compactMap { key in
      let setting = written.lazy.compactMap { $0[key.path] }.first
      guard let value = setting?.value ?? preset?[key.path]?.value ?? key.defaultValue else { return nil }
      let shown = Self.secret.contains(key.path) ? Self.hidden(value) : Redaction.text(Self.plain(value))
      let mark = setting != nil ? "  # set" : preset?[key.path] != nil ? "  # preset" : ""
      return "\(key.path) = \(shown)\(mark)"
    }
  }

  private static func plain(_ value: ConfigurationKey.Value) -> String {
    switch value {
    case .text(let text): "\"\(text)\""
    case .texts(let texts): "[" + texts.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .flag(let flag): "\(flag)"
    case .numbers(let numbers): "\(numbers)"
    }
  }

  /// That something is there, and of a file what keeps it from being read.
  private static func hidden(_ value: ConfigurationKey.Value) -> String {
    switch value {
    case .texts(let texts): return "(\(texts.count) kept back)"
    case .text(let text) where text.hasPrefix("/"):
      return access(text, R_OK) == 0 ? "(a file, kept back)" : "(a file that cannot be read, kept back)"
    default: return "(kept back)"
    }
  }
}

/// Takes out of a text what a stranger must not read.
enum Redaction {
  /// Without credentials in addresses, and without numbers as exact as a coordinate.
  static func text(_ text: String) -> String { withoutCoordinates(withoutCredentials(text)) }

  /// `scheme://user:password@host` loses what stands before the last `@` of its authority.
  private static func withoutCredentials(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let scheme = rest.firstRange(ofText: "://") {
      result += rest[..<scheme.upperBound]
      rest = rest[scheme.upperBound...]
      let authority = rest.prefix { $0 != "/" && $0 != "\"" && $0 != " " && $0 != "," }
      guard let at = authority.lastIndex(of: "@") else { continue }
      result += "(kept back)"
      rest = rest[at...]
    }
    return result + rest
  }

  /// Numbers with four or more decimals say where somebody is, to ten metres.
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
