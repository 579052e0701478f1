internal import Platform
package import Telemetry

/// The limits of an outbox, with all defaults.
package struct OutboxConfiguration: Hashable, Sendable {
  /// The time at which a record of a lane is safe from a power cut.
  package enum Durability: Hashable, Sendable {
    /// Before `append` returns: one flash sync per commit.
    case beforeAccepting
    /// Within a second: many records share a sync. A crash of the program alone loses nothing in either case.
    case withinASecond
  }

  /// Limits of one lane. If a limit is exceeded, the oldest records of the same lane are dropped and counted.
  package struct LaneLimits: Hashable, Sendable {
    /// Size in bytes: payload, topic and 48 per record.
    package var bytes: Int
    /// Maximum powered-on time in s that a record may wait; nil for no limit. Setting the clock does not age
    /// a record.
    package var age: Int?
    package var durability: Durability

    package init(bytes: Int, age: Int?, durability: Durability) {
      self.bytes = bytes
      self.age = age
      self.durability = durability
    }
  }

  package var events = LaneLimits(bytes: 64 << 20, age: 90 * 86_400, durability: .beforeAccepting)
  package var state = LaneLimits(bytes: 1 << 20, age: nil, durability: .withinASecond)
  package var tracks = LaneLimits(bytes: 128 << 20, age: 90 * 86_400, durability: .withinASecond)
  package var other = LaneLimits(bytes: 16 << 20, age: 7 * 86_400, durability: .withinASecond)
  package var traces = LaneLimits(bytes: 32 << 20, age: 90 * 86_400, durability: .beforeAccepting)
  /// Maximum number of dead letters; the oldest are dropped.
  package var deadLetters = 1000
  /// Time in s from acceptance for which a record that the broker does not permit is retried; after that it
  /// becomes a dead letter. 0 disables retries.
  package var refusedAge = 86_400
  /// Maximum size in bytes of records in memory while the disk is not writable, over all lanes.
  package var memoryBytes = 2 << 20

  /// Maximum size in bytes of records that wait for their acknowledgement outside the store for up to 0.8 s:
  /// in memory, and in a file that outlives the process. This applies only to lanes that may lose a second to
  /// a power cut and in which nothing older waits. 0 writes each record to the store immediately.
  package var recentBytes = 64 << 10

  /// Largest number of waiting records of a lane that are sent in order. Before a longer backlog, the newest
  /// retained record of each topic is sent first. 200 records have about 60 kB, which take 1 s over LTE-M and half a
  /// minute at 2 kB/s.
  package var shortBacklog = 200

  package init() {}

  package func limits(of lane: DeliveryLane) -> LaneLimits {
    switch lane {
    case .events: events
    case .state: state
    case .tracks: tracks
    case .other: other
    case .traces: traces
    }
  }

  func validate() throws(OperationError) {
    for lane in DeliveryLane.allCases {
      let limits = limits(of: lane)
      guard limits.bytes >= 1024, (limits.age ?? 1) > 0 else {
        throw OperationError(
          "outbox", operation: "configure", object: "lane \(lane)",
          cause: "it needs 1024 bytes and an age above 0 s")
      }
    }
    guard deadLetters >= 0, memoryBytes >= 4096, recentBytes >= 0 else {
      throw OperationError(
        "outbox", operation: "configure", object: "outbox", cause: "it needs at least 4096 bytes of memory")
    }
  }
}
