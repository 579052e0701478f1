package import StoreAndForward

extension AgentConfiguration {
  /// The durable queue.
  package struct Store: Sendable, Hashable {
    /// The file.
    package var path: String
    package var outbox: OutboxConfiguration
  }

  /// The accelerometer's history on disk.
  package struct Recorder: Sendable, Hashable {
    package var path: String
    /// 10⁶ bytes that the file may take.
    package var megabytes: Int
  }
}

extension AgentConfiguration {
  /// Where traces are kept.
  package struct Traces: Sendable, Hashable {
    /// The folder; nil keeps them in memory only.
    package var path: String?
    /// How many stay after they were told, and how many bytes of them.
    package var count: Int
    package var bytes: Int
    /// Seconds after which what the queue has accepted outlives a loss of power.
    package var settlingTime: Double
  }
}

extension AgentConfiguration.Traces {
  /// Nil when they are off.
  init?(_ reader: ConfigurationReader, beside store: AgentConfiguration.Store) throws(ConfigurationError) {
    guard try reader.flag("trace.enabled") else { return nil }
    path = store.path + ".traces"
    count = try reader.integer("trace.kept")
    bytes = try reader.bytes("trace.kept_megabytes")
    // The queue's last second, and as long again.
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

  /// Where another file of the agent is kept unless a key says so.
  func path(beside name: String) -> String {
    path.lastIndex(of: "/").map { path[...$0] + name } ?? name
  }
}

extension AgentConfiguration.Recorder {
  /// Nil when it is off.
  init?(_ reader: ConfigurationReader, beside store: AgentConfiguration.Store) throws(ConfigurationError) {
    guard try reader.flag("recorder.enabled") else { return nil }
    path = reader.optionalText("recorder.path") ?? store.path(beside: "accelerometer.history")
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
  /// A number of megabytes (of 1,048,576 bytes), in bytes.
  fileprivate func bytes(_ path: String) throws(ConfigurationError) -> Int {
    Int(try number(path) * 1_048_576)
  }
}
