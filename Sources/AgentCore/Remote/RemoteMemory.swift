internal import Bytes
internal import Glibc
internal import JSON
internal import Platform
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
  /// The version of the last `config/desired` that was accepted, from whichever broker.
  var newestVersion: String?
  /// Likewise of `regions/desired`.
  var lastRegions: String?

  /// Tells one document from another; no protection against forgery, which is the broker's business.
  static func digest(_ payload: [UInt8]) -> String {
    "\(payload.count)-" + String(FNV1a.hash64(payload), radix: 16)
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
      json.field("newestVersion", newestVersion)
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
    newestVersion = json["newestVersion"]?.string
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

/// The folder of what remote management keeps across restarts. A file is replaced whole: a loss of power at any moment
/// leaves the old or the new one.
struct RemoteFolder: Sendable {
  let path: String

  private static let settingsName = "settings.json"
  private static let regionsName = "regions.geojson"
  private static let sizeLimit = 1 << 22

  var historyPath: String { "\(path)/track" }

  /// Makes the folder where only the last part of it is missing.
  func make() throws(SystemError) { try StateFolder.make(path, key: "remote.path") }

  /// What is remembered; nothing when there is no file.
  ///
  /// - Throws: `JSONError` or `SystemError` when there is one that cannot be read.
  func memory() throws -> RemoteMemory {
    guard let bytes = try read(Self.settingsName) else { return RemoteMemory() }
    return try RemoteMemory(decoding: bytes)
  }

  func save(_ memory: RemoteMemory) throws(SystemError) {
    try AtomicFile.write(memory.encoded, to: "\(path)/\(Self.settingsName)")
  }

  /// The regions that were set remotely; nil when none were.
  func regions() throws(SystemError) -> [UInt8]? { try read(Self.regionsName) }

  /// - Parameter document: nil forgets them.
  func save(regions document: [UInt8]?) throws(SystemError) {
    if let document { return try AtomicFile.write(document, to: "\(path)/\(Self.regionsName)") }
    guard unlink("\(path)/\(Self.regionsName)") != 0, errno != ENOENT else { return }
    throw SystemError(operation: "remove", object: "\(path)/\(Self.regionsName)", code: errno)
  }

  private func read(_ name: String) throws(SystemError) -> [UInt8]? {
    try AtomicFile.read("\(path)/\(name)", limit: Self.sizeLimit)
  }
}
