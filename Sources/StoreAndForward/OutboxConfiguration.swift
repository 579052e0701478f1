public import Telemetry

/// The limits of an outbox. Every default is written here.
public struct OutboxConfiguration: Hashable, Sendable {
  /// When a record of a lane is safe from a power cut.
  public enum Durability: Hashable, Sendable {
    /// Before `append` returns: one sync of the flash per commit.
    case beforeAccepting
    /// Within a second: many records share a sync. A crash of the program alone loses nothing either way.
    case withinASecond
  }

  /// What one lane may hold. The drop rule is the same everywhere: the oldest records of the same lane make
  /// room, and each is counted.
  public struct LaneLimits: Hashable, Sendable {
    /// Bytes of payload, topic and 48 per record.
    public var bytes: Int
    /// Seconds of powered-on time that a record may wait; nil means for ever. Setting the clock does not
    /// age a record.
    public var age: Int?
    public var durability: Durability

    public init(bytes: Int, age: Int?, durability: Durability) {
      self.bytes = bytes
      self.age = age
      self.durability = durability
    }
  }

  public var events = LaneLimits(bytes: 64 << 20, age: 90 * 86_400, durability: .beforeAccepting)
  public var state = LaneLimits(bytes: 1 << 20, age: nil, durability: .withinASecond)
  public var tracks = LaneLimits(bytes: 128 << 20, age: 90 * 86_400, durability: .withinASecond)
  public var other = LaneLimits(bytes: 16 << 20, age: 7 * 86_400, durability: .withinASecond)
  public var traces = LaneLimits(bytes: 32 << 20, age: 90 * 86_400, durability: .beforeAccepting)
  /// How many dead letters are kept; the oldest make room.
  public var deadLetters = 1000
  /// Seconds for which a record is kept, from its acceptance, that the broker does not permit: what is refused after that is a
  /// dead letter. 0 keeps none.
  public var refusedAge = 86_400
  /// Bytes that records may take in memory while the disk takes none, all lanes together.
  public var memoryBytes = 2 << 20

  /// Bytes of records that may wait for their acknowledgement outside the store, for 0.8 s at the most: in memory, and in a
  /// file that outlives the process. Of lanes that may lose a second to a power cut alone, and in which nothing older waits.
  /// 0 writes each record to the store at once.
  public var recentBytes = 64 << 10

  public init() {}

  public func limits(of lane: DeliveryLane) -> LaneLimits {
    switch lane {
    case .events: events
    case .state: state
    case .tracks: tracks
    case .other: other
    case .traces: traces
    }
  }

  func validate() throws(OutboxError) {
    for lane in DeliveryLane.allCases {
      let limits = limits(of: lane)
      guard limits.bytes >= 1024, (limits.age ?? 1) > 0 else {
        throw OutboxError(
          operation: "configure", object: "lane \(lane)", cause: "it needs 1024 bytes and an age above 0 s")
      }
    }
    guard deadLetters >= 0, memoryBytes >= 4096, recentBytes >= 0 else {
      throw OutboxError(
        operation: "configure", object: "outbox", cause: "it needs at least 4096 bytes of memory")
    }
  }
}
