internal import CMosquitto
internal import Platform

/// The outgoing messages of a session: the provider's records within the broker's window, `publishNow`
/// messages, the last messages of a connection, and subscription requests. It outlives a connection, because
/// the broker's rejections remain relevant. It belongs to the session's thread.
final class Outflow {
  private let provider: (any OutboundProvider)?
  private let mailbox: Mailbox
  private let subscriptionAnswered: @Sendable (String, MQTTReasonCode) -> Void
  private let publishingPaused: @Sendable (MQTTReasonCode?) -> Void
  private var flow: PublishFlow
  private var subscriptions: SubscriptionLedger
  /// Properties granted by the current broker.
  private var grants: MQTTServerProperties?
  private var providerHasMore = false
  /// Number of `publishNow` messages in the library that wait for the socket.
  private var unwrittenNow = 0
  /// The last messages of the connection: `waiting` are still to be sent, `underWay` are the packet
  /// identifiers of the sent but unacknowledged ones.
  private var final: (waiting: [MQTTMessage], underWay: Set<Int32>) = ([], [])
  private var generator = SystemRandomNumberGenerator()

  /// Maximum number of `publishNow` messages in the library for a slow socket.
  private static let unwrittenNowLimit = 100

  init(
    configuration: MQTTConfiguration, subscriptions: [MQTTSubscription], provider: (any OutboundProvider)?,
    handlers: MQTTSession.Handlers, mailbox: Mailbox
  ) {
    self.provider = provider
    self.mailbox = mailbox
    subscriptionAnswered = handlers.subscriptionAnswered
    publishingPaused = handlers.publishingPaused
    flow = PublishFlow(window: configuration.publishWindow)
    self.subscriptions = SubscriptionLedger(subscriptions)
  }

  // MARK: Start and end of a connection

  /// Starts a connection: all subscriptions are requested again, and the provider is asked for records.
  func begin(_ properties: MQTTServerProperties) {
    grants = properties
    providerHasMore = provider != nil
    unwrittenNow = 0
    final = ([], [])
    flow.begin(receiveMaximum: properties.receiveMaximum)
    subscriptions.begin()
  }

  /// Ends a connection: unacknowledged records return to the provider.
  func end(_ cause: MQTTDisconnection.Cause) {
    var blamed: MQTTReasonCode?
    if case .disconnectedByServer(let reason) = cause, PublishFlow.blamesPacket(reason) { blamed = reason }
    if case .rejected(let token, let reason)? = flow.ended(
      blamed: blamed, closedByPeer: cause == .closedByPeer,
      isAlone: subscriptions.isSettled && final.underWay.isEmpty && unwrittenNow == 0, at: .now)
    {
      reject(token, reason)
    }
    provider?.offerAgain()
  }

  /// Notes that the provider has new records.
  func providerAdded() { providerHasMore = provider != nil }

  /// Replaces the last messages of the connection; earlier ones are no longer awaited.
  func setFinal(_ messages: [MQTTMessage]) { final = (messages, []) }

  // MARK: State

  /// True if no record is unacknowledged.
  var isIdle: Bool { flow.isIdle }

  /// True if the last messages were acknowledged.
  var isFinalAcknowledged: Bool { final.waiting.isEmpty && final.underWay.isEmpty }

  /// True if every subscription request was answered.
  var isSettled: Bool { subscriptions.isSettled }

  /// True if no subscription request is pending, and no record is pending that the broker accepts now.
  var isQuiet: Bool {
    subscriptions.isSettled && (flow.isPaused || (!providerHasMore && flow.isIdle))
  }

  /// The oldest unanswered record and subscription request; nil if all are answered.
  var oldestRecord: UInt64? { flow.oldest }
  var oldestSubscription: UInt64? { subscriptions.oldest }

  /// End of a pause after a temporary rejection or a rejected subscription; nil for none.
  var deadline: MonotonicTime? {
    guard let retry = subscriptions.deadline else { return flow.deadline }
    return min(retry, flow.deadline ?? .distantFuture)
  }

  // MARK: Sending

  /// Passes `publishNow` messages to the library if the socket is fast enough, otherwise drops them. They are
  /// also dropped while a record must be sent alone.
  func sendNow(_ messages: [MQTTMessage], through client: borrowing Client) {
    for message in messages {
      guard !flow.isIsolating, unwrittenNow < Self.unwrittenNowLimit,
        client.publish(message).outcome.isSuccess
      else {
        mailbox.count { $0.droppedNow += 1 }
        continue
      }
      unwrittenNow += 1
    }
  }

  /// Requests records from the provider up to the window, and sends them.
  /// - Parameter takesRecords: false if the connection is about to end.
  func sendRecords(through client: borrowing Client, takesRecords: Bool) {
    guard let provider else { return }
    if flow.tick(now: .now, jitter: Double.random(in: 0...1, using: &generator)) {
      provider.offerAgain()
      providerHasMore = true
    }
    guard providerHasMore, takesRecords else { return }
    let room = flow.room()
    guard room > 0 else { return }
    let records = provider.next(limit: room)
    if records.count < room { providerHasMore = false }
    if records.isEmpty { flow.providerIsEmpty() }
    let now = MonotonicTime.now
    for record in records { send(record, through: client, at: now) }
  }

  /// Sends the last messages, within the window.
  func sendFinal(through client: borrowing Client) {
    while let message = final.waiting.first {
      if message.qos > .atMostOnce, flow.roomForFinal <= final.underWay.count { return }
      final.waiting.removeFirst()
      let (outcome, packet) = client.publish(message)
      if outcome.isSuccess { final.underWay.insert(packet) }
    }
  }

  private func send(_ record: OutboundRecord, through client: borrowing Client, at now: MonotonicTime) {
    if let reason = refusal(of: record.message) { return reject(record.token, reason) }
    let (outcome, packet) = client.publish(record.message)
    switch outcome.code {
    case MOSQ_ERR_SUCCESS.code: flow.sent(packet: packet, token: record.token, at: now)
    case MOSQ_ERR_OVERSIZE_PACKET.code, MOSQ_ERR_PAYLOAD_SIZE.code: reject(record.token, .packetTooLarge)
    case MOSQ_ERR_INVAL.code, MOSQ_ERR_MALFORMED_UTF8.code: reject(record.token, .topicNameInvalid)
    case MOSQ_ERR_QOS_NOT_SUPPORTED.code: reject(record.token, .qosNotSupported)
    // The connection is lost, which the next read or write detects; the record is then offered again.
    default: break
    }
  }

  /// Returns why the broker's properties exclude a message; nil if they do not. The library's own check of
  /// the size is off by one byte.
  private func refusal(of message: MQTTMessage) -> MQTTReasonCode? {
    if !MQTTTopic.isValidName(message.topic) { return .topicNameInvalid }
    guard let grants else { return nil }
    if message.qos > grants.maximumQoS { return .qosNotSupported }
    if let limit = grants.maximumPacketSize, message.packetSize > Int(limit) { return .packetTooLarge }
    return nil
  }

  private func reject(_ token: UInt64, _ reason: MQTTReasonCode) {
    mailbox.count { $0.rejected += 1 }
    provider?.rejected(token, reason: reason)
  }

  // MARK: Subscriptions

  func apply(_ change: SubscriptionLedger.Request) {
    switch change {
    case .subscribe(let subscription): subscriptions.add(subscription)
    case .unsubscribe(let filter): subscriptions.remove(filter)
    }
  }

  /// Filters of all desired subscriptions.
  var filters: [String] { subscriptions.filters }

  /// Unsubscribes for the current connection only; the next connection subscribes again.
  func suspend(_ filter: String) { subscriptions.suspend(filter) }

  func sendSubscriptions(through client: borrowing Client) {
    subscriptions.tick(now: .now)
    while let request = subscriptions.next() {
      let (outcome, packet) =
        switch request {
        case .subscribe(let subscription): client.subscribe(subscription)
        case .unsubscribe(let filter): client.unsubscribe(filter)
        }
      if outcome.isSuccess {
        subscriptions.sent(packet: packet, request)
      } else if case .subscribe(let subscription) = request {
        subscriptionAnswered(subscription.filter, .topicFilterInvalid)
      }
    }
  }

  // MARK: Answers

  /// Processes the broker's answers to publications.
  func settlePublished(_ events: ClientEvents) {
    guard !events.published.isEmpty else { return }
    var acknowledged: [UInt64] = []
    var now = 0
    let pause = flow.pauseReason
    for answer in events.published {
      switch flow.answered(packet: answer.packet, reason: answer.reason) {
      case .acknowledged(let token): acknowledged.append(token)
      case .rejected(let token, let reason): reject(token, reason)
      case .postponed: mailbox.count { $0.postponed += 1 }
      case nil: if final.underWay.remove(answer.packet) == nil { now += 1 }
      }
    }
    events.published.removeAll(keepingCapacity: true)
    unwrittenNow = max(0, unwrittenNow - now)
    if now > 0 { mailbox.count { $0.sentNow += now } }
    if !acknowledged.isEmpty {
      mailbox.count { $0.acknowledged += acknowledged.count }
      provider?.acknowledged(acknowledged)
    }
    if flow.pauseReason != pause { publishingPaused(flow.pauseReason) }
  }

  /// Processes the broker's answers to subscriptions.
  func settleSubscriptions(_ events: ClientEvents) {
    for answer in events.subscribed {
      if case .subscribe(let subscription)? = subscriptions.answered(packet: answer.packet) {
        subscriptions.settle(subscription, isRejected: answer.reason.isError, at: .now)
        subscriptionAnswered(subscription.filter, answer.reason)
      }
    }
    for packet in events.unsubscribed { _ = subscriptions.answered(packet: packet) }
    events.subscribed.removeAll()
    events.unsubscribed.removeAll()
  }
}
