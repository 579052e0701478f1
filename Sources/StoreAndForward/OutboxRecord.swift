internal import Platform
package import Spatial
package import Telemetry

/// A message that an outbox accepts. It becomes a record after its identity is assigned, so that the payload
/// can contain it.
package protocol OutboxMessage: Sendable {
  /// Creates the record. Called once, possibly on another thread during its commit; it must not call the
  /// outbox.
  func record(as identity: MessageIdentity) -> OutboxRecord
  /// True if the payload contains the identity. Other messages receive no sequence number, because consumers
  /// would count it as missing.
  var carriesIdentity: Bool { get }
}

extension OutboxMessage {
  package var carriesIdentity: Bool { true }
}

/// A message in the outbox, from its acceptance until the broker has acknowledged it.
package struct OutboxRecord: Hashable, Sendable {
  package var lane: DeliveryLane
  /// Position in the outbox, used to report the delivery. It initially equals the sequence number in the
  /// payload. The two differ after a record without a sequence number was accepted, or after records received
  /// new positions: when they were moved from memory to the disk, recovered from a damaged store, or requeued
  /// from the dead letters.
  package internal(set) var seq: UInt64 = 0
  package var topic: String
  package var payload: [UInt8]
  /// MQTT quality of service, 0...2.
  package var qos: UInt8
  package var retain: Bool
  package var contentType: String?
  /// Remaining validity in powered-on time, in s; nil for no limit.
  package var expiry: UInt32?
  /// Time of creation by the device's clock; stored, but never used for decisions.
  package var createdAt: UTCTime
  /// Time of acceptance in s on the store's own clock (see `StoreClock`).
  var storedAt: Int64 = 0

  package init(
    lane: DeliveryLane, topic: String, payload: [UInt8], qos: UInt8 = 1, retain: Bool = false,
    contentType: String? = nil, expiry: UInt32? = nil, createdAt: UTCTime
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

  /// Size of the record for its lane's limit: payload, topic and a constant overhead.
  var cost: Int { payload.count + topic.utf8.count + 48 }
}

extension Publication: OutboxMessage {
  package var carriesIdentity: Bool {
    if case .native(let message) = content { message.carriesIdentity } else { false }
  }

  /// Creates the record. A live message, which is normally sent immediately or dropped, is put into the last
  /// lane if it must wait.
  package func record(as identity: MessageIdentity) -> OutboxRecord {
    OutboxRecord(
      lane: lane ?? .other, topic: topic, payload: payload(identity: identity), qos: UInt8(clamping: qos),
      retain: retain, contentType: Publication.contentType, expiry: expiry.map { UInt32(clamping: $0) },
      createdAt: .now)
  }
}
