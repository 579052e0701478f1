internal import JSON
internal import Pipeline
internal import Positioning
internal import Spatial
internal import Telemetry

/// What was set remotely: a layer of configuration, and the name that its sender gave it.
struct RemoteSettings: Hashable, Sendable {
  var version: String?
  var values: [String: ConfigurationKey.Value] = [:]

  /// Seconds by which a version may be ahead of the vehicle's clock: one that is further ahead would block all later documents.
  static let longestAhead = 86_400.0

  /// Whether a version is a time in the future.
  static func isFuture(_ version: String, at civilTime: UTCTime) -> Bool {
    UTCTime(rfc3339: version).map { $0.seconds(since: civilTime) > longestAhead } ?? false
  }

  /// Whether a version is a whole number or an RFC 3339 time.
  static func hasOrder(_ version: String) -> Bool {
    UInt64(version) != nil || UTCTime(rfc3339: version) != nil
  }

  /// Whether a version comes before another. Whole numbers and RFC 3339 times have an order; other names have none.
  static func isOlder(_ version: String, than other: String) -> Bool {
    if let number = UInt64(version), let other = UInt64(other) { return number < other }
    if let time = UTCTime(rfc3339: version), let other = UTCTime(rfc3339: other) { return time < other }
    return false
  }
}

/// A `config/desired` document, checked key by key before anything is done with it.
struct RemoteDocument: Sendable {
  struct Refusal: Hashable, Sendable {
    var key: String
    var reason: String
  }

  private(set) var settings = RemoteSettings()
  private(set) var accepted: [String] = []
  private(set) var refused: [Refusal] = []
  /// Why the document as a whole is of no use; nil when it is.
  private(set) var problem: String?

  /// Bytes. All keys there are take some 4,000.
  static let sizeLimit = 65_536

  /// - Parameters:
  ///   - changeable: the keys that may be set.
  ///   - layers: what else sets keys; what stands over the remote settings, or is private, cannot be set remotely.
  init(parsing payload: [UInt8], changeable: Set<String>, layers: ConfigurationLayers) {
    // The way to delete a retained message, and so the way to take everything back.
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
  /// Why a key cannot be set remotely although it may be as a rule; nil when it can.
  func problem(remote key: String) -> String? {
    if let name = override(of: key) { return "\(name) sets it, which goes before" }
    guard key == "location.desired_accuracy",
      (try? configuration())?.pipeline.location.desiredAccuracy == .reduced
    else { return nil }
    return "the vehicle's own configuration says \"reduced\", which is lifted only there"
  }
}
