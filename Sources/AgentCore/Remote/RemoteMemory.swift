internal import Telemetry

/// What remote management keeps across restarts.
struct RemoteMemory: Hashable, Sendable {
  /// Settings that are in force but not confirmed yet.
  struct Trial: Hashable, Sendable {
    var settings: RemoteSettings
    /// How often the agent was started with them.
    var starts = 0
  }

  /// The settings under which the broker was reached.
  var settings = RemoteSettings()
  var trial: Trial?
  /// Of the last `config/desired` that was decided on: the broker sends a retained one again at every connection.
  var lastDesired: String?
  /// Likewise of `regions/desired`.
  var lastRegions: String?

  /// Tells one document from another; no protection against forgery, which is the broker's business.
  static func digest(_ payload: [UInt8]) -> String { "\(payload.count)-" + String(hash(payload), radix: 16) }

  /// FNV-1a, 64 bits.
  static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

// MARK: The file's form

extension RemoteMemory {
  var encoded: [UInt8] {
    JSONWriter.object { json in
      json.field("format", 1)
      json.field("settings") { Self.write(settings, to: &$0) }
      if let trial {
        json.field("trial") { json in
          json.field("starts", trial.starts)
          Self.write(trial.settings, to: &json)
        }
      }
      json.field("lastDesired", lastDesired)
      json.field("lastRegions", lastRegions)
    }
  }

  private static func write(_ settings: RemoteSettings, to json: inout JSONWriter) {
    json.field("version", settings.version)
    json.key("values")
    json.value(.object(settings.values.mapValues(\.json)))
  }

  /// Values that their keys do not accept any more, after an update of the agent, are left out.
  ///
  /// - Throws: `JSONError` when it is no such file.
  init(decoding bytes: [UInt8]) throws(JSONError) {
    let json = try JSONValue(parsing: bytes)
    guard json["format"]?.integer == 1 else { throw JSONError("key \"format\": not 1") }
    settings = Self.settings(json["settings"])
    if let trial = json["trial"] {
      self.trial = Trial(
        settings: Self.settings(trial), starts: Int(clamping: trial["starts"]?.integer ?? 0))
    }
    lastDesired = json["lastDesired"]?.string
    lastRegions = json["lastRegions"]?.string
  }

  private static func settings(_ json: JSONValue?) -> RemoteSettings {
    var settings = RemoteSettings(version: json?["version"]?.string)
    guard case .object(let members)? = json?["values"] else { return settings }
    for (key, value) in members {
      if let accepted = ConfigurationKey.byPath[key]?.accept(json: value) { settings.values[key] = accepted }
    }
    return settings
  }
}
