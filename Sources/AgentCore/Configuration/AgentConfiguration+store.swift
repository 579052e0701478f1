package import StoreAndForward

extension AgentConfiguration {
  /// The durable queue.
  package struct Store: Sendable, Hashable {
    /// The file.
    package var path: String
    package var outbox: OutboxConfiguration

    /// Name of the store's file without its folder. The names of other state files start with it.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
  }

  /// The files that contain the vehicle's state across restarts.
  package struct State: Sendable, Hashable {
    /// Default folder of files without a configured path.
    package var folder: String
    /// Key that sets the folder, for messages.
    package var key: String
    /// Path of the odometer, which is in the store or a file (`StateDocument`).
    package var odometer: String
    package var trips: String
  }

  /// The accelerometer's history on disk.
  package struct Recorder: Sendable, Hashable {
    package var path: String
    /// Largest size of the file, in units of 10⁶ bytes.
    package var megabytes: Int
  }
}

extension AgentConfiguration {
  /// The store of traces.
  package struct Traces: Sendable, Hashable {
    /// Folder of traces; nil holds them in memory only.
    package var path: String?
    /// Maximum number and bytes of published traces that remain stored.
    package var count: Int
    package var bytes: Int
    /// Time in s after which messages accepted by the queue survive a loss of power.
    package var settlingTime: Double
  }
}

extension AgentConfiguration.Traces {
  /// Nil if traces are disabled.
  init?(_ reader: ConfigurationReader, store: AgentConfiguration.Store) throws(ConfigurationError) {
    guard try reader.flag("trace.enabled") else { return nil }
    path = reader.statePath(else: store.name + ".traces")
    count = try reader.integer("trace.kept")
    bytes = try reader.bytes("trace.kept_megabytes")
    // Without `.beforeAccepting`, the queue syncs accepted messages within a second. The settling time is
    // twice that for safety.
    settlingTime = store.outbox.traces.durability == .beforeAccepting ? 0 : 2
  }
}

extension AgentConfiguration.Store {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    path = reader.statePath("store.path", else: "outbox.sqlite")
    outbox = OutboxConfiguration()
    outbox.events = try .init(reader, "events")
    outbox.state = try .init(reader, "state")
    outbox.tracks = try .init(reader, "tracks")
    outbox.other = try .init(reader, "other")
    outbox.traces = try .init(reader, "traces")
    outbox.deadLetters = try reader.integer("store.dead_letters")
    outbox.refusedAge = Int(try reader.number("store.refused_hours") * 3600)
    outbox.memoryBytes = try reader.bytes("store.memory_megabytes")
  }
}

extension AgentConfiguration.State {
  init(_ reader: ConfigurationReader, store: AgentConfiguration.Store) {
    folder = reader.stateFolder
    key =
      reader.optionalText("state.path") == nil && reader.optionalText("store.path") != nil
      ? "store.path" : "state.path"
    odometer = reader.statePath(else: store.name + ".odometer")
    trips = reader.statePath(else: store.name + ".trips")
  }
}

extension AgentConfiguration.Recorder {
  /// Nil if the recorder is disabled.
  init?(_ reader: ConfigurationReader) throws(ConfigurationError) {
    guard try reader.flag("recorder.enabled") else { return nil }
    try self.init(settings: reader)
  }

  init(settings reader: ConfigurationReader) throws(ConfigurationError) {
    path = reader.statePath("recorder.path", else: "accelerometer.history")
    megabytes = try reader.integer("recorder.megabytes")
  }
}

extension OutboxConfiguration.LaneLimits {
  fileprivate init(_ reader: ConfigurationReader, _ lane: String) throws(ConfigurationError) {
    let days: Double? = try reader.positive("store.\(lane)_days")
    let isSafeAtOnce =
      switch try reader.text("store.sync") {
      case "everything": true
      case "second": false
      default: lane == "events" || lane == "traces"
      }
    self.init(
      bytes: try reader.bytes("store.\(lane)_megabytes"), age: days.map { max(1, Int($0 * 86_400)) },
      durability: isSafeAtOnce ? .beforeAccepting : .withinASecond)
  }
}

extension ConfigurationReader {
  /// Returns a size in bytes from a key in megabytes (of 1,048,576 bytes).
  fileprivate func bytes(_ path: String) throws(ConfigurationError) -> Int {
    Int(try number(path) * 1_048_576)
  }
}
