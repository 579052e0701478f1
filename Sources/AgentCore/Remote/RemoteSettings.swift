internal import JSON
internal import Pipeline
internal import Positioning
internal import Spatial
internal import Telemetry

/// Remote settings: a layer of configuration, and the version chosen by its sender.
struct RemoteSettings: Hashable, Sendable {
  var version: String?
  var values: [String: ConfigurationKey.Value] = [:]

  /// Returns whether a version precedes another. Integers and RFC 3339 times are ordered; other versions are
  /// not.
  static func isOlder(_ version: String, than other: String) -> Bool {
    if let number = UInt64(version), let other = UInt64(other) { return number < other }
    if let time = UTCTime(rfc3339: version), let other = UTCTime(rfc3339: other) { return time < other }
    return false
  }
}

/// A `config/desired` document, validated key by key before it is used.
struct RemoteDocument: Sendable {
  struct Refusal: Hashable, Sendable {
    var key: String
    var reason: String
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
      if let reason = refusal(of: key, changeable, layers) {
        refused.append(Refusal(key: String(key.prefix(128)), reason: reason))
      } else if let spec = ConfigurationKey.byPath[key], let accepted = spec.accept(json: value) {
        settings.values[key] = accepted
        self.accepted.append(key)
      } else {
        let wanted = ConfigurationKey.byPath[key]?.accepted ?? "a value"
        refused.append(Refusal(key: key, reason: "the value is not \(wanted)"))
      }
    }
  }

  private func refusal(of key: String, _ changeable: Set<String>, _ layers: ConfigurationLayers) -> String? {
    guard ConfigurationKey.byPath[key] != nil else {
      let hint = ConfigurationKey.nearest(to: key).map { "; did you mean \($0)?" } ?? ""
      return "there is no such key" + hint
    }
    guard changeable.contains(key) else { return "remote.keys does not list it" }
    return layers.problem(remote: key)
  }
}

extension ConfigurationLayers {
  /// Returns why a normally changeable key cannot be set remotely; nil if it can.
  func problem(remote key: String) -> String? {
    if let name = override(of: key) { return "\(name) sets it, which goes before" }
    guard key == "location.desired_accuracy",
      (try? configuration())?.pipeline.location.desiredAccuracy == .reduced
    else { return nil }
    return "the vehicle's own configuration sets \"reduced\", which can be changed only there"
  }
}
