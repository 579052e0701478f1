internal import MQTT
internal import StoreAndForward

/// Lets the MQTT session draw on the durable queue. A record's `seq` is its token.
struct OutboxProvider: OutboundProvider {
  let outbox: Outbox

  func next(limit: Int) -> [OutboundRecord] {
    outbox.next(limit: limit).map { record in
      OutboundRecord(
        token: record.seq,
        message: MQTTMessage(
          topic: record.topic, payload: record.payload, qos: QoS(rawValue: record.qos) ?? .atLeastOnce,
          retain: record.retain,
          properties: MQTTMessageProperties(
            contentType: record.contentType, messageExpiryInterval: record.expiry)))
    }
  }

  func acknowledged(_ tokens: [UInt64]) { outbox.remove(tokens) }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) { outbox.reject(token, reason: "\(reason)") }

  func offerAgain() { outbox.offerAgain() }
}
