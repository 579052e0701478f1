internal import Glibc
internal import Logging
internal import MQTT
internal import Pipeline
internal import Platform
internal import Positioning
internal import Spatial
internal import StoreAndForward
internal import Telemetry

/// Delivers messages to a broker: durable ones through the queue, live values directly.
final class BrokerDelivery: MessageDelivery {
  private let formats: Locked<MessageFormats>
  private let store: AgentOutbox
  private let outbox: Outbox
  private let session: MQTTSession
  private let presence: Presence
  private let plan: Locked<LinkPlan>
  private let linkState: Locked<LinkReport>
  /// Expiry of messages in s; nil for none.
  private let messageExpiry: Locked<Int?>
  private let lastWill: @Sendable () -> MQTTMessage
  private let log: Logger
  private let refusals: Locked<RefusalLog>
  private let pause: Locked<PauseLog>

  /// Seconds without an acknowledgement after which a stop no longer waits: the next start delivers the remaining messages.
  /// Shorter if the broker is unreachable.
  private static let (stallLimit, unreachableLimit) = (5.0, 1.0)
  /// Limits in s of a stop for the queue, for the farewell, and for the end of the connection. Their sum is below the time
  /// that the packaged service grants (20 s), however long the queue is.
  private static let (queueLimit, farewellLimit, leavingLimit) = (6.0, 4.0, 3.0)

  /// Starts connecting.
  ///
  /// - Parameters:
  ///   - remote: topics of remote management; nil subscribes to nothing.
  ///   - inbox: receives requests and changes of the link.
  /// - Throws: an error naming the invalid setting.
  init(
    configuration: AgentConfiguration, store: AgentOutbox, formats: MessageFormats, log: Logger,
    remote: RemoteTopics? = nil, inbox: AgentInbox
  ) throws {
    self.formats = Locked(formats)
    self.log = log
    let presence = Presence()
    let outbox = store.outbox
    (self.store, self.outbox, self.presence) = (store, outbox, presence)
    let plan = Locked(LinkPlan(configuration.mqtt))
    self.plan = plan
    let linkState = Locked(LinkReport(configuration.mqtt))
    self.linkState = linkState
    messageExpiry = Locked(configuration.mqtt.messageExpiry)
    let lastWill: @Sendable () -> MQTTMessage = {
      Self.message(formats.lastWill(presence.will()), expiry: nil)
    }
    self.lastWill = lastWill
    let refusals = Locked(RefusalLog())
    self.refusals = refusals
    let pause = Locked(PauseLog())
    self.pause = pause
    let closes = Locked(SilentCloses())
    let awaitsAcknowledgement = Locked(false)
    let hasStatus = configuration.profiles.isNative
    let settings = configuration.mqtt.client
    session = try MQTTSession(
      configuration: settings,
      subscriptions: (remote?.filters ?? []).map { MQTTSubscription($0) },
      outbound: OutboxProvider(
        outbox: outbox,
        delivered: {
          let isFirst = awaitsAcknowledgement.withLock { isAwaited in
            defer { isAwaited = false }
            return isAwaited
          }
          if isFirst { inbox.push(.link(.acknowledged)) }
        }
      ) { refusal, reason in
        let line = refusals.withLock {
          $0.observe(refusal, reason: "\(reason)", at: .now)
        }
        guard let line else { return }
        log.warning(
          .publishRefused,
          line.isKept ? "rejected by the broker, stored for a retry" : "rejected by the broker permanently",
          metadata: ["topic": "\(line.topic)", "reason": "\(line.reason)", "count": "\(line.count)"])
      },
      handlers: MQTTSession.Handlers(
        connectionChanged: { state in
          Self.report(state, to: log)
          linkState.withLock { $0.observe(state, at: .now) }
          switch state {
          case .connected: presence.connected()
          // The broker may have published the will, also if the connection was lost during `asleep`.
          case .disconnected(let end, _) where end.cause != .asleep: _ = presence.interrupt()
          case .disconnected: break
          }
          if let change = LinkChange(state, sessionStart: presence.sessionStart) { inbox.push(.link(change)) }
          if case .connected = state {
            // Only the native format has a `status` that follows each connection, except in a quiet burst.
            let isStatusDue = hasStatus && !presence.isQuiet(plan.withLock { $0 })
            let isAwaited = isStatusDue || outbox.status.records > 0
            awaitsAcknowledgement.withLock { $0 = isAwaited }
            if !isAwaited { inbox.push(.link(.acknowledged)) }
          }
          if case .disconnected(let end, _) = state, closes.withLock({ $0.isFrequent(end, at: .now) }) {
            log.warning(
              .brokerDuplicateClient,
              "the broker closes the connection repeatedly: another client may have the same client identifier",
              metadata: [
                "client_id": "\(settings.clientID)",
                "remedy": "stop the other agent, or give each its own vehicle.id or mqtt.client_id",
              ])
          }
        },
        received: { messages in
          guard let remote else { return .kept }
          let requests = messages.compactMap { RemoteRequest($0, in: remote, log: log) }
          let dropped = requests.count { !inbox.push(.request($0)) }
          if dropped > 0 {
            log.warning(
              .commandsDropped, "too many simultaneous commands", metadata: ["dropped": "\(dropped)"])
          }
          return .kept
        },
        subscriptionAnswered: { filter, reason in
          guard reason.isError else { return }
          log.warning(
            .remoteRefused, "no remote management", metadata: ["topic": "\(filter)", "reason": "\(reason)"])
        },
        publishingPaused: { reason in
          let line = pause.withLock { $0.observe(reason.map { "\($0)" }, at: .now) }
          if let line { Self.report(line, to: log) }
        },
        warned: { log.warning(.messageDropped, "\($0)") },
        farewell: { seconds in
          let counters = Self.counters(outbox.status)
          guard
            let asleep = presence.asleep(nextContactIn: seconds, counters: counters).flatMap(
              formats.nativeStatus)
          else { return [] }
          return [Self.message(asleep, identity: outbox.makeIdentity(), expiry: nil)]
        },
        will: lastWill))
    try session.start()
  }

  func accept(_ messages: [VehicleMessage], preserving documents: [PreservedDocument]) {
    var publications = formats.withLock { formats in messages.flatMap { formats.encode($0) } }
    for case .status(let status) in messages {
      presence.observe(status)
      guard presence.holdsStatus(plan.withLock({ $0 })) else { continue }
      publications.removeAll { $0.content == .native(.status(status)) }
    }
    publish(publications, preserving: documents)
  }

  private func publish(_ publications: [Publication], preserving documents: [PreservedDocument] = []) {
    var durable: [Publication] = []
    let isUrgent = publications.contains { $0.lane == .events }
    let isAnswer = publications.contains { $0.isCommandResponse }
    let held = isUrgent || isAnswer ? presence.interrupt().flatMap(nativeStatus) : nil
    var belongsToBurst = plan.withLock { $0.choice.policy == .standing }
    for var publication in [held].compactMap({ $0 }) + publications {
      if publication.lane == nil {
        session.publishNow(Self.message(publication, expiry: publication.expiry))
      } else {
        publication.expiry = expiry(of: publication)
        durable.append(publication)
      }
      belongsToBurst = belongsToBurst || publication.lane == .state
    }
    guard !durable.isEmpty || !documents.isEmpty else { return }
    outbox.append(durable, preserving: documents)
    if isUrgent {
      session.wakeUp()
    } else if belongsToBurst {
      // Only state messages extend a burst: a track that grows continuously would otherwise keep the link
      // open.
      session.scheduleSend()
    }
  }

  private func nativeStatus(_ status: StatusMessage) -> Publication? {
    formats.withLock { $0.nativeStatus(status) }
  }

  var storeProblem: String? {
    if case .memory(let cause) = outbox.status.mode { cause } else { nil }
  }

  var deliveryProblem: String? {
    let topics = outbox.status.refusedTopics
    return pause.withLock { $0.problem } ?? refusals.withLock { $0.problem(waiting: topics, at: .now) }
  }

  func observe(isAtRest: Bool, at timestamp: Timestamp) {
    store.reportDue()
    if let line = pause.withLock({ $0.due(at: .now) }) { Self.report(line, to: log) }
    let (before, wanted, link) = plan.withLock {
      ($0.choice, $0.observe(isAtRest: isAtRest, at: timestamp), $0)
    }
    if let held = presence.advance(link).flatMap(nativeStatus) { publish([held]) }
    guard let wanted else { return }
    log.info(
      .linkChanged, "link", metadata: ["at_rest": "\(isAtRest)", "keepalive_s": "\(wanted.keepAlive)"])
    session.setLinkPolicy(wanted.policy, keepAlive: wanted.keepAlive)
    // A changed keepalive requires a new connection.
    if wanted.policy == .standing, before.policy == .standing { session.renewConnection() }
  }

  func observe(_ disclosure: PositionDisclosure) {
    let change = disclosure.change(from: outbox, formats.withLock { $0 })
    publish(change.publications, preserving: change.documents)
  }

  func beginEpoch() { outbox.beginEpoch() }

  var counters: [String: Int] { Self.counters(session.statistics, outbox.status) }

  static func counters(_ sent: MQTTStatistics, _ store: OutboxStatus) -> [String: Int] {
    var counters = counters(store)
    counters["messages.acknowledged"] = sent.acknowledged
    counters["messages.rejected"] = sent.rejected
    counters["dropped.live"] = sent.droppedNow
    counters["connections"] = sent.connections
    if sent.malformed > 0 { counters["dropped.malformed"] = sent.malformed }
    return counters
  }

  private static func counters(_ store: OutboxStatus) -> [String: Int] {
    var counters = [
      "queue.records": store.records, "queue.dead": store.deadLetters,
      "dropped.space": store.lanes.reduce(0) { $0 + $1.droppedForSpace },
      "dropped.age": store.lanes.reduce(0) { $0 + $1.droppedForAge },
      "dropped.damaged": store.lanes.reduce(0) { $0 + $1.damaged },
    ]
    for lane in DeliveryLane.allCases { counters["queue.\(lane)"] = store[lane].records }
    return counters
  }

  var link: LinkReport? {
    var report = linkState.withLock { $0 }
    let choice = plan.withLock { $0.choice }
    (report.keepAlive, report.isInBursts) = (choice.keepAlive, choice.policy != .standing)
    return report
  }

  var radio: EnergyAccount {
    let link = session.statistics.link
    return EnergyAccount(seconds: link.seconds, starts: link.bursts, bytes: link.bytes)
  }

  func stop(farewell: () -> VehicleMessage) {
    let end = MonotonicTime.after(Self.queueLimit)
    let isDrained = drain(until: end)
    let farewell = farewell()
    let last = formats.withLock { $0.encode(farewell) }
    // The last element is the farewell in the native format. It is sent after all other messages, if possible.
    publish(last.dropLast())
    if isDrained { drain(until: end) }
    publish(last.suffix(1))
    session.wakeUp()
    // The lane of the farewell is sent before the long ones. The next start sends the rest.
    let lane = last.last?.lane
    if isDrained || linkState.withLock({ $0.problem == nil }) {
      drain(isDrained ? nil : lane, until: .after(Self.farewellLimit))
    }
    // Without the farewell, the broker would retain `online`. The will says `offline`, too.
    session.stop(drain: Self.leavingLimit, leavesWill: outbox.status.records(in: lane) > 0)
    let left = outbox.close()
    if left.kept > 0 {
      log.warning(
        .storeLeft, "undelivered records remain in the store until the next start",
        metadata: ["records": "\(left.kept)"])
    }
    if left.lost > 0 {
      log.warning(
        .storeLost, "records lost: the store was not writable", metadata: ["records": "\(left.lost)"])
    }
  }

  /// Waits until the queue or a lane of it is empty or makes no progress, at most until `end`. Returns whether it
  /// is empty.
  @discardableResult
  private func drain(_ lane: DeliveryLane? = nil, until end: MonotonicTime) -> Bool {
    var (left, since) = (outbox.status.records(in: lane), MonotonicTime.now)
    func limit() -> Double {
      linkState.withLock { $0.problem } == nil ? Self.stallLimit : Self.unreachableLimit
    }
    while left > 0, !end.hasPassed, since.secondsElapsed < limit() {
      // The link may fail meanwhile, which makes the limit shorter.
      let deadline = min(end, MonotonicTime.after(Self.unreachableLimit))
      let now = outbox.waitForFewer(than: left, in: lane, until: deadline)
      if now < left { since = .now }
      left = now
    }
    return left == 0
  }

  private static func message(
    _ publication: Publication, identity: MessageIdentity? = nil, expiry: Int?
  ) -> MQTTMessage {
    MQTTMessage(
      topic: publication.topic, payload: publication.payload(identity: identity),
      qos: publication.qos == 0 ? .atMostOnce : .atLeastOnce, retain: publication.retain,
      properties: MQTTMessageProperties(
        contentType: Publication.contentType, messageExpiryInterval: expiry.map { UInt32(clamping: $0) },
        correlationData: publication.correlation))
  }

  /// Returns the expiry of a publication. Retained messages do not expire.
  private func expiry(of publication: Publication) -> Int? {
    publication.expiry ?? (publication.retain ? nil : messageExpiry.withLock { $0 })
  }

  private static func report(_ state: MQTTConnectionState, to log: Logger) {
    switch state {
    case .connected(let properties):
      log.info(
        .brokerConnected, "broker connected",
        metadata: ["protocol": properties.protocolLevel == 5 ? "5" : "3.1.1"])
    case .disconnected(let why, willRetryIn: let wait?):
      var metadata: Logger.Metadata = ["reason": "\(why)", "retry_s": "\((wait * 10).rounded() / 10)"]
      if let remedy = why.remedy { metadata["remedy"] = "\(remedy)" }
      switch why.cause {
      case .renewing, .reconfiguring: log.info(.brokerReconnecting, "reconnecting", metadata: metadata)
      case .unanswered:
        log.warning(.brokerNotAnswering, "the broker acknowledges no messages", metadata: metadata)
      default: log.warning(.brokerUnreachable, "broker unreachable", metadata: metadata)
      }
    case .disconnected: break
    }
  }

  private static func report(_ line: PauseLog.Line, to log: Logger) {
    switch line {
    case .paused(let reason):
      log.warning(
        .publishPaused, "the broker accepts no messages at present; they are stored and retried",
        metadata: ["reason": "\(reason)"])
    case .resumed: log.notice(.publishResumed, "the broker accepts messages again")
    }
  }
}

extension BrokerDelivery: RemoteLink {
  func answer(_ answer: OwnTracksAnswer) { publish(formats.withLock { $0.encode(answer) }) }

  func reconnect(_ settings: AgentConfiguration.MQTT) {
    do {
      // The will is sent as the last message, so that the previous broker does not show the vehicle as
      // online.
      try session.reconnect(settings.client, final: [lastWill()])
      plan.withLock { $0 = LinkPlan(settings) }
      messageExpiry.withLock { $0 = settings.messageExpiry }
    } catch {
      log.warning(.reconnectRefused, "connection not changed", metadata: ["reason": "\(error)"])
    }
  }
}

extension RemoteRequest {
  /// Maximum number of payload bytes that are read, one more than any document may have, so that larger ones
  /// are detected.
  private static let payloadLimit = (1 << 20) + 1

  /// Nil for a message on an unknown topic. A request with a response topic that is not allowed is answered
  /// on the command's own topic, because senders of commands must not write to topics of the vehicle.
  init?(_ message: MQTTMessage, in topics: RemoteTopics, log: Logger) {
    guard let subject = topics.subject(of: message.topic) else { return nil }
    var topic = message.properties.responseTopic
    if let wanted = topic, !topics.isResponse(wanted) {
      log.warning(
        .responseTopicRefused,
        "response topic not in remote.response_topics; replying on the default topic",
        metadata: ["topic": "\(wanted.prefix(200))"])
      topic = nil
    }
    self.init(
      subject: subject, payload: Array(message.payload.prefix(Self.payloadLimit)),
      isRetained: message.retain,
      replyTo: CommandResponseMessage.ReplyAddress(
        topic: topic, correlation: message.properties.correlationData))
  }
}

extension RemoteTopics {
  /// Returns whether answers may be sent to a topic.
  func isResponse(_ topic: String) -> Bool {
    MQTTTopic.isValidName(topic)
      && (isOwnResponse(topic) || responses.contains { MQTTTopic.matches(filter: $0, topic: topic) })
  }
}

extension LinkChange {
  /// Converts a connection state. Nil if the session closed the link until the next burst or to reconnect,
  /// because the connection is then not lost.
  init?(_ state: MQTTConnectionState, sessionStart: UTCTime?) {
    switch state {
    case .connected(let properties):
      self = .connected(sessionStart: sessionStart, isSessionNew: !properties.sessionPresent)
    case .disconnected(let why, _) where why.isTemporary: return nil
    case .disconnected(let why, _): self = .lost(reason: why.description)
    }
  }
}

/// Connects the durable queue with the MQTT session. A record's `seq` is its token.
private struct OutboxProvider: OutboundProvider {
  let outbox: Outbox
  /// Called with each acknowledgement.
  let delivered: @Sendable () -> Void
  let refused: @Sendable (OutboxRefusal, MQTTReasonCode) -> Void

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

  func acknowledged(_ tokens: [UInt64]) {
    outbox.remove(tokens)
    delivered()
  }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) {
    // A missing permission may be corrected at the broker; other rejections are caused by the message.
    let refusal = outbox.refuse(token, reason: "\(reason)", isLasting: reason != .notAuthorized)
    if let refusal { refused(refusal, reason) }
  }

  func offerAgain() { outbox.offerAgain() }
}
