internal import Platform
public import Telemetry

/// What an outbox can keep: it becomes a record once it has its identity, so that its payload can carry that.
public protocol OutboxMessage: Sendable {
  /// Called once, possibly on another thread that is just committing; it must not call the outbox.
  func record(as identity: MessageIdentity) -> OutboxRecord
  /// Whether the payload contains the identity. A message without it gets no sequence number: consumers would miss that number.
  var carriesIdentity: Bool { get }
}

extension OutboxMessage {
  public var carriesIdentity: Bool { true }
}

/// A message in the outbox, from the moment at which it is accepted until the broker has acknowledged it.
public struct OutboxRecord: Hashable, Sendable {
  public var lane: DeliveryLane
  /// Its place in the outbox, by which its delivery is reported. It equals the sequence number in the payload until records without
  /// one are accepted, or records get new places: from memory to the disk, out of a damaged store, from the dead letters.
  public internal(set) var seq: UInt64 = 0
  public var topic: String
  public var payload: [UInt8]
  /// 0...2.
  public var qos: UInt8
  public var retain: Bool
  public var contentType: String?
  /// Seconds of usefulness that are left, counted like a lane's age; nil means no limit.
  public var expiry: UInt32?
  /// Nanoseconds since 1970 UTC, as the device's clock said when it was made; kept, never used to decide.
  public var createdAt: Int64
  /// Seconds on the store's own clock (see `StoreClock`) when it was accepted.
  var storedAt: Int64 = 0

  public init(
    lane: DeliveryLane, topic: String, payload: [UInt8], qos: UInt8 = 1, retain: Bool = false,
    contentType: String? = nil, expiry: UInt32? = nil, createdAt: Int64
  ) {
    self.lane = lane
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
    self.contentType = contentType
    self.expiry = expiry
    self.createdAt = createdAt
  }

  /// What the record counts for in a lane's limit: its payload, its topic and an allowance for the rest.
  var cost: Int { payload.count + topic.utf8.count + 48 }
}

extension Publication: OutboxMessage {
  public var carriesIdentity: Bool {
    if case .native(let message) = content { message.carriesIdentity } else { false }
  }

  /// A live one, which would be sent now or never, comes after all others when it is made to wait.
  public func record(as identity: MessageIdentity) -> OutboxRecord {
    OutboxRecord(
      lane: lane ?? .other, topic: topic, payload: payload(identity: identity), qos: UInt8(clamping: qos),
      retain: retain, contentType: Publication.contentType, expiry: expiry.map { UInt32(clamping: $0) },
      createdAt: SystemClock.realtime)
  }
}
