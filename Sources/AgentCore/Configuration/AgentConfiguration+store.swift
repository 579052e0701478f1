extension AgentConfiguration {
  /// What the durable queue may take, and when a record is safe.
  public struct Store: Sendable, Hashable {
    /// What a lane may hold; the oldest make room.
    public struct Lane: Sendable, Hashable {
      public var bytes: Int
      /// Seconds of powered-on time; nil is for ever.
      public var age: Int?
    }

    /// Power-loss safety against flash wear.
    public enum Sync: String, Sendable, Hashable, CaseIterable {
      /// Each record before it counts as accepted.
      case everything
      /// Events before they count as accepted, the rest within a second.
      case events
      /// All within a second.
      case second
    }

    /// The file.
    public var path: String
    public var sync: Sync
    public var events, state, tracks, other: Lane
    /// How many messages that the broker will never take are kept.
    public var deadLetters: Int
    /// Bytes that may wait in memory while the disk takes none.
    public var memoryBytes: Int
  }
}

extension AgentConfiguration.Store {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    path = try reader.text("store.path")
    sync = Sync(rawValue: try reader.text("store.sync")) ?? .events
    events = try Lane(reader, "events")
    state = try Lane(reader, "state")
    tracks = try Lane(reader, "tracks")
    other = try Lane(reader, "other")
    deadLetters = try reader.integer("store.dead_letters")
    memoryBytes = try reader.megabytes("store.memory_megabytes")
  }
}

extension AgentConfiguration.Store.Lane {
  fileprivate init(_ reader: ConfigurationReader, _ name: String) throws(ConfigurationError) {
    bytes = try reader.megabytes("store.\(name)_megabytes")
    let days = try reader.number("store.\(name)_days")
    age = days > 0 ? max(1, Int(days * 86_400)) : nil
  }
}

extension ConfigurationReader {
  /// A number of megabytes (of 1,048,576 bytes), in bytes.
  fileprivate func megabytes(_ path: String) throws(ConfigurationError) -> Int {
    Int(try number(path) * 1_048_576)
  }
}
