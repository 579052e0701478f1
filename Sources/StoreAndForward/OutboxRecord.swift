/// Which queue a record stands in. Lanes are drained in this order, and within a lane oldest first; right after
/// `offerAgain()` the last known of tracks and the state lane come once before all others, so that a watcher sees first
/// where things are.
public enum Lane: Int, CaseIterable, Sendable, Comparable {
  /// What happened: region transitions, motion events, answers to commands. Synced one by one.
  case events = 0
  /// What is: of each topic only the newest record is kept.
  case state = 1
  /// Where it went: batches of track.
  case tracks = 2
  /// Everything else.
  case other = 3

  public static func < (a: Lane, b: Lane) -> Bool { a.rawValue < b.rawValue }
}

/// The name of a record for ever: no two records of a device share both numbers, also not across power cuts
/// and restored backups.
public struct RecordIdentity: Hashable, Sendable {
  /// Random, 16 hexadecimal digits, made with the store.
  public var epoch: String
  /// Grows from record to record within an epoch; gaps mean nothing.
  public var seq: UInt64
}

/// A record on its way into the outbox.
public struct RecordDraft: Sendable {
  public var lane: Lane
  public var topic: String
  /// 0...2.
  public var qos: UInt8
  public var retain: Bool
  public var contentType: String?
  /// Seconds after which the record is of no use to anyone; nil means never. Counted like a lane's age.
  public var expiry: UInt32?
  /// Nanoseconds since 1970 UTC, as the device's clock said; kept, never used to decide.
  public var createdAt: Int64
  /// Makes the payload for the identity that the record was given. Called once, possibly on another thread
  /// that is just committing; it must not call the outbox.
  public var payload: @Sendable (RecordIdentity) -> [UInt8]

  public init(
    lane: Lane, topic: String, qos: UInt8 = 1, retain: Bool = false, contentType: String? = nil,
    expiry: UInt32? = nil, createdAt: Int64, payload: @escaping @Sendable (RecordIdentity) -> [UInt8]
  ) {
    self.lane = lane
    self.topic = topic
    self.qos = qos
    self.retain = retain
    self.contentType = contentType
    self.expiry = expiry
    self.createdAt = createdAt
    self.payload = payload
  }
}

/// A record that waits in the outbox.
public struct Record: Hashable, Sendable {
  public var lane: Lane
  /// Its place and its name in the outbox. Of a record salvaged from a damaged store this is a new number;
  /// its payload still carries the old one.
  public var seq: UInt64
  public var topic: String
  public var payload: [UInt8]
  public var qos: UInt8
  public var retain: Bool
  public var contentType: String?
  /// Seconds of usefulness that are left; nil means no limit.
  public var expiry: UInt32?
  /// Nanoseconds since 1970 UTC, as the device's clock said when it was made.
  public var createdAt: Int64
  /// Seconds on the store's own clock (see `StoreClock`) when it was accepted.
  var storedAt: Int64

  /// What the record counts for in a lane's limit: its payload, its topic and an allowance for the rest.
  var cost: Int { payload.count + topic.utf8.count + 48 }
}
