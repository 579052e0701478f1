internal import JSON
internal import Pipeline
internal import Positioning
package import Settings
internal import Spatial
internal import Telemetry

/// Remote settings: a layer of configuration, and the version chosen by its sender.
package struct RemoteSettings: Hashable, Sendable {
  package var version: String?
  package var values: [String: ConfigurationKey.Value] = [:]

  /// Maximum lead in s of a version over the vehicle's clock. A later version would block all newer documents.
  static let longestAhead = 86_400.0

  /// Returns whether a version is a time in the future.
  static func isFuture(_ version: String, at civilTime: UTCTime) -> Bool {
    UTCTime(rfc3339: version).map { $0.seconds(since: civilTime) > longestAhead } ?? false
  }

  /// Largest version that is a number: the largest whole number that every JSON reader represents exactly. A larger one
  /// would block all smaller numbers.
  static let largestNumber: UInt64 = 1 << 53

  private static func number(_ version: String) -> UInt64? {
    UInt64(version).flatMap { $0 <= largestNumber ? $0 : nil }
  }

  /// Returns whether a version is a whole number above `largestNumber`.
  static func isTooLarge(_ version: String) -> Bool {
    number(version) == nil && version.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Returns whether a version is a whole number or an RFC 3339 time.
  static func hasOrder(_ version: String) -> Bool {
    number(version) != nil || UTCTime(rfc3339: version) != nil
  }

  /// Returns whether a version precedes another. Whole numbers and RFC 3339 times are ordered; other names are
  /// not.
  package static func isOlder(_ version: String, than other: String) -> Bool {
    if let number = Self.number(version), let other = Self.number(other) { return number < other }
    if let time = UTCTime(rfc3339: version), let other = UTCTime(rfc3339: other) { return time < other }
    return false
  }
}

/// A `config/desired` document, validated key by key before it is used.
package struct RemoteDocument: Sendable {
  package struct Refusal: Hashable, Sendable {
    package var key: String
    package var reason: String
  }

  private(set) var settings = RemoteSettings()
  private(set) var accepted: [String] = []
  private(set) var refused: [Refusal] = []
  /// The reason why the whole document is invalid; nil if it is valid.
  private(set) var problem: String?

  /// Maximum size in bytes. All existing keys require about 4,000.
  static let sizeLimit = 65_536

  /// - Parameters:
  ///   - changeable: keys that may be set.
  ///   - layers: the other layers; a key that they override or that is private cannot be set remotely.
  init(parsing payload: [UInt8], changeable: Set<String>, layers: ConfigurationLayers) {
    // An empty payload deletes a retained message, and therefore all remote settings.
    guard !payload.isEmpty else { return }
    guard payload.count <= Self.sizeLimit else {
      problem = "has \(payload.count) bytes; at most \(Self.sizeLimit) are read"
      return
    }
    do throws(JSONError) {
      try read(JSONValue(parsing: payload), changeable, layers)
    } catch { problem = error.description }
  }

  private mutating func read(
    _ json: JSONValue, _ changeable: Set<String>, _ layers: ConfigurationLayers
  ) throws(JSONError) {
    guard case .object(let members) = json else { throw JSONError("not a JSON object") }
    if let version = members["version"], version != .null {
      guard let text = version.string, (1...128).contains(text.utf8.count) else {
        throw JSONError("key \"version\": not a text of 1 to 128 bytes")
      }
      settings.version = text
    }
    guard case .object(let values)? = members["settings"] else {
      throw JSONError("key \"settings\": missing or not an object")
    }
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      let checked = Self.check(key, value, changeable, layers)
      settings.values[key] = checked.value
      if let reason = checked.reason {
        refused.append(Refusal(key: String(key.prefix(128)), reason: reason))
      } else {
        accepted.append(key)
      }
    }
  }

  /// The reason for refusing a key that remote settings may not set.
  static let unlisted = "remote.keys does not list it"

  /// Returns the accepted value, or the reason for refusing it.
  private static func check(
    _ key: String, _ json: JSONValue, _ changeable: Set<String>, _ layers: ConfigurationLayers
  ) -> (value: ConfigurationKey.Value?, reason: String?) {
    guard let spec = ConfigurationKey.byPath[key] else {
      let hint = ConfigurationKey.nearest(to: key).map { "; did you mean \($0)?" } ?? ""
      return (nil, "unknown key" + hint)
    }
    guard changeable.contains(key) else { return (nil, unlisted) }
    let value = spec.accept(json: json)
    if let reason = layers.problem(remote: key, value: value) { return (nil, reason) }
    return value == nil ? (nil, "the value is not \(spec.accepted)") : (value, nil)
  }
}

extension ConfigurationLayers {
  /// Returns why a listed key cannot be set remotely to a value; nil if it can.
  /// - Parameter value: nil if the key does not accept it.
  func problem(remote key: String, value: ConfigurationKey.Value?) -> String? {
    if let name = override(of: key) { return "\(name) sets it and has precedence" }
    if RemoteKeys.files.contains(key), case .text(let path)? = value, !path.isEmpty {
      return problem(remoteFile: path)
    }
    guard key == "location.desired_accuracy",
      (try? configuration())?.pipeline.location.desiredAccuracy == .reduced
    else { return nil }
    return "the vehicle's own configuration sets \"reduced\", which can be changed only there"
  }

  /// Returns why a remote setting cannot name a file. Another broker could otherwise receive any file of the vehicle as a
  /// password.
  private func problem(remoteFile path: String) -> String? {
    guard let folder = (try? configuration())?.remote.filesPath else {
      return "remote settings cannot name files; set remote.files_path in the vehicle's own configuration"
    }
    let (prefix, name) = (
      folder.hasSuffix("/") ? folder : folder + "/", path.split(separator: "/").last ?? ""
    )
    guard path == prefix + name, name != ".", name != "..", !path.contains("\0") else {
      return "the file is not in \(folder) (remote.files_path); name one as \(prefix)FILE"
    }
    return nil
  }
}
