internal import Bytes
package import JSON
package import Logging
package import Platform
internal import Settings
package import Spatial
internal import Telemetry

/// State of remote management across restarts.
package struct RemoteMemory: Hashable, Sendable {
  /// Settings in effect that are not confirmed yet.
  package struct Trial: Hashable, Sendable {
    package var settings: RemoteSettings
    /// Number of starts of the agent with the settings on trial.
    package var starts = 0
  }

  /// The documents of a topic that were decided on. A broker delivers its retained document at every connection.
  package struct Decided: Hashable, Sendable {
    /// Digest of the last document.
    package var last: String?
    /// Digest of the last document that the broker had retained. Later documents that it does not retain leave it.
    package var retained: String?

    /// Records a document.
    ///
    /// - Returns: false if the broker has delivered its retained document again.
    mutating func admit(_ payload: [UInt8], isRetained: Bool) -> Bool {
      let digest = RemoteMemory.digest(payload)
      let isRepeated = isRetained && (digest == last || digest == retained)
      if isRetained { retained = digest }
      if !isRepeated { last = digest }
      return !isRepeated
    }
  }

  /// Settings with which the broker was reached.
  package var settings = RemoteSettings()
  package var trial: Trial?
  /// The decided `config/desired` documents.
  package var desired = Decided()
  /// Version of the last accepted `config/desired` of any broker.
  package var newestVersion: String?
  /// The decided `regions/desired` documents.
  var regions = Decided()
  /// Keys of stored settings that the last report refused.
  package var refused: [String] = []

  package init() {}

  /// Returns a digest to recognize a document. It does not protect against forgery; that is the task of the
  /// broker's permissions.
  static func digest(_ payload: [UInt8]) -> String {
    "\(payload.count)-" + String(FNV1a.hash64(payload), radix: 16)
  }
}

// MARK: File format

extension RemoteMemory {
  package var encoded: [UInt8] {
    JSONWriter.object { json in
      json.field("format", 1)
      json.field("settings") { Self.write(settings, to: &$0) }
      if let trial {
        json.field("trial") { json in
          json.field("starts", trial.starts)
          Self.write(trial.settings, to: &json)
        }
      }
      json.field("lastDesired", desired.last)
      json.field("retainedDesired", desired.retained)
      json.field("newestVersion", newestVersion)
      json.field("lastRegions", regions.last)
      json.field("retainedRegions", regions.retained)
      if !refused.isEmpty { json.field("refused", texts: refused) }
    }
  }

  private static func write(_ settings: RemoteSettings, to json: inout JSONWriter) {
    json.field("version", settings.version)
    json.key("values")
    json.value(.object(settings.values.mapValues(\.json)))
  }

  /// Decodes the file. Values that the keys no longer accept, after an update of the agent, are ignored.
  ///
  /// - Throws: `JSONError` for an invalid file.
  package init(decoding bytes: [UInt8]) throws(JSONError) {
    let json = try JSONValue(parsing: bytes)
    guard json["format"]?.integer == 1 else { throw JSONError("key \"format\": not 1") }
    settings = Self.settings(json["settings"])
    if let trial = json["trial"] {
      self.trial = Trial(
        settings: Self.settings(trial), starts: Int(clamping: trial["starts"]?.integer ?? 0))
    }
    desired = Decided(last: json["lastDesired"]?.string, retained: json["retainedDesired"]?.string)
    newestVersion = json["newestVersion"]?.string
    regions = Decided(last: json["lastRegions"]?.string, retained: json["retainedRegions"]?.string)
    refused = json["refused"]?.array?.compactMap(\.string) ?? []
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

/// The stored state of remote management, and the folder of its history of fixes.
package struct RemoteFolder: Sendable {
  package let path: String
  private let settings: StateDocument
  private let regionsDocument: StateDocument

  private static let sizeLimit = 1 << 22

  package init(path: String, store: StateStore, log: Logger) {
    func document(_ name: String, _ file: String) -> StateDocument {
      StateDocument(name, path: "\(path)/\(file)", store: store, largest: Self.sizeLimit, log: log)
    }
    self.path = path
    settings = document("remote settings", "settings.json")
    regionsDocument = document("remote regions", "regions.geojson")
  }

  var historyPath: String { "\(path)/track" }

  /// Creates the folder if its parent exists.
  /// - Returns: the failure of a full or read-only disk; nil if there is none.
  /// - Throws: `SystemError` if the folder cannot be created for another reason.
  package func make() throws(SystemError) -> SystemError? {
    try StateFolder.makeIfWritable(path, key: "remote.path")
  }

  /// Returns the stored settings; empty settings if there are none, or if they are not usable.
  package func memory(now: UTCTime) -> RemoteMemory {
    settings.load(now: now) { text throws(JSONError) in try RemoteMemory(decoding: Array(text.utf8)) }
      ?? RemoteMemory()
  }

  package func save(_ memory: RemoteMemory) throws(StateDocument.Failure) {
    try settings.write(memory.encoded)
  }

  /// Returns the remote regions; nil if there are none, or if they are not usable.
  package func regions(now: UTCTime) -> RemoteRegions? {
    regionsDocument.load(now: now) { text throws(JSONError) in try RemoteRegions(parsing: Array(text.utf8)) }
  }

  /// - Parameter document: nil deletes the regions.
  package func save(regions document: [UInt8]?) throws(StateDocument.Failure) {
    try regionsDocument.write(document, isHeld: false)
  }
}
