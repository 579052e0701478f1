internal import CMosquitto
internal import Platform

extension EstablishedConnection {
  /// `publishNow`: into the library if the socket keeps up, else dropped.
  func sendNow(_ messages: [MQTTMessage]) {
    for message in messages {
      guard unwrittenNow < Self.unwrittenNowLimit, connection.client.publish(message).outcome.isSuccess else {
        loop.mailbox.count { $0.droppedNow += 1 }
        continue
      }
      unwrittenNow += 1
    }
  }

  func sendSubscriptions() {
    while let request = loop.ledger.next() {
      let (outcome, packet) =
        switch request {
        case .subscribe(let subscription): connection.client.subscribe(subscription)
        case .unsubscribe(let filter): connection.client.unsubscribe(filter)
        }
      if outcome.isSuccess {
        loop.ledger.sent(packet: packet, request)
      } else if case .subscribe(let subscription) = request {
        loop.handlers.subscriptionAnswered(subscription.filter, .topicFilterInvalid)
      }
    }
  }

  /// Takes from the provider what there is room for.
  func sendRecords() {
    guard let provider = loop.provider else { return }
    if loop.flow.tick(now: SystemClock.monotonic, jitter: loop.jitter()) {
      provider.offerAgain()
      providerHasMore = true
    }
    guard providerHasMore, leaving == nil else { return }
    let room = loop.flow.room()
    guard room > 0 else { return }
    let records = provider.next(limit: room)
    if records.count < room { providerHasMore = false }
    for record in records { send(record, of: provider) }
  }

  private func send(_ record: OutboundRecord, of provider: any OutboundProvider) {
    if let reason = refusal(of: record.message) { return reject(record.token, reason, provider) }
    let (outcome, packet) = connection.client.publish(record.message)
    switch outcome.code {
    case MOSQ_ERR_SUCCESS.code: loop.flow.sent(packet: packet, token: record.token)
    case MOSQ_ERR_OVERSIZE_PACKET.code, MOSQ_ERR_PAYLOAD_SIZE.code:
      reject(record.token, .packetTooLarge, provider)
    case MOSQ_ERR_INVAL.code, MOSQ_ERR_MALFORMED_UTF8.code: reject(record.token, .topicNameInvalid, provider)
    case MOSQ_ERR_QOS_NOT_SUPPORTED.code: reject(record.token, .qosNotSupported, provider)
    // The connection is gone, which the next read or write finds out; the record is offered again then.
    default: break
    }
  }

  /// What this broker said it would not take. The library's own check of the size is a byte short.
  private func refusal(of message: MQTTMessage) -> MQTTReasonCode? {
    if !MQTTTopic.isValidName(message.topic) { return .topicNameInvalid }
    if message.qos > properties.maximumQoS { return .qosNotSupported }
    if let limit = properties.maximumPacketSize, message.packetSize > Int(limit) { return .packetTooLarge }
    return nil
  }

  private func reject(_ token: UInt64, _ reason: MQTTReasonCode, _ provider: any OutboundProvider) {
    loop.mailbox.count { $0.rejected += 1 }
    provider.rejected(token, reason: reason)
  }

  /// Passes on what the broker answered to publications.
  func settlePublished() {
    let events = connection.client.events
    guard !events.published.isEmpty else { return }
    var acknowledged: [UInt64] = []
    var now = 0
    for answer in events.published {
      switch loop.flow.answered(packet: answer.packet, reason: answer.reason) {
      case .acknowledged(let token): acknowledged.append(token)
      case .rejected(let token, let reason):
        if let provider = loop.provider { reject(token, reason, provider) }
      case .postponed: loop.mailbox.count { $0.postponed += 1 }
      case nil:
        if leaving?.answered(packet: answer.packet) != true { now += 1 }
      }
    }
    events.published.removeAll(keepingCapacity: true)
    unwrittenNow = max(0, unwrittenNow - now)
    if now > 0 { loop.mailbox.count { $0.sentNow += now } }
    if !acknowledged.isEmpty {
      loop.mailbox.count { $0.acknowledged += acknowledged.count }
      loop.provider?.acknowledged(acknowledged)
    }
  }

  /// Passes on what the broker answered to subscriptions.
  func settleSubscriptions() {
    let events = connection.client.events
    for answer in events.subscribed {
      if case .subscribe(let subscription)? = loop.ledger.answered(packet: answer.packet) {
        loop.handlers.subscriptionAnswered(subscription.filter, answer.reason)
      }
    }
    for packet in events.unsubscribed { _ = loop.ledger.answered(packet: packet) }
    events.subscribed.removeAll()
    events.unsubscribed.removeAll()
  }
}

extension MQTTMessage {
  /// Bytes of the PUBLISH packet in MQTT 5 (section 3.3).
  var packetSize: Int {
    var list = 0
    if let text = properties.contentType { list += 3 + text.utf8.count }
    if properties.messageExpiryInterval != nil { list += 5 }
    if let text = properties.responseTopic { list += 3 + text.utf8.count }
    if let data = properties.correlationData { list += 3 + data.count }
    for pair in properties.userProperties { list += 5 + pair.key.utf8.count + pair.value.utf8.count }
    let remaining =
      2 + topic.utf8.count + (qos == .atMostOnce ? 0 : 2) + Self.lengthBytes(list) + list + payload.count
    return 1 + Self.lengthBytes(remaining) + remaining
  }

  /// Bytes of a variable byte integer (section 1.5.5).
  private static func lengthBytes(_ value: Int) -> Int {
    value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : 4
  }
}
