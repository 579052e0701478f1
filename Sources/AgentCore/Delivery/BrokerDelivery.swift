internal import Glibc
internal import Logging
internal import MQTT
internal import Platform
internal import Positioning
internal import StoreAndForward
internal import Telemetry

/// Delivers to a broker: what must arrive goes through the durable queue first, live values straight to the connection.
final class BrokerDelivery: MessageDelivery {
  private let topics: TopicScheme
  private let outbox: Outbox
  private let session: MQTTSession
  private let log: Logger

  /// Seconds without an acknowledgement after which a stop leaves the rest to the next start.
  private static let stallLimit = 5.0

  /// Opens the store and starts connecting.
  ///
  /// - Parameters:
  ///   - will: makes the payload that the broker publishes as `status` when the connection ends without a word; asked
  ///     anew for each connection.
  ///   - connected: called after each connection, on the session's thread.
  /// - Throws: an error naming the store or the setting that cannot be used.
  init(
    configuration: AgentConfiguration, topics: TopicScheme, log: Logger,
    will: @escaping @Sendable () -> [UInt8],
    connected: @escaping @Sendable () -> Void
  ) throws {
    self.topics = topics
    self.log = log
    try Self.makeFolder(of: configuration.storePath)
    let outbox = try Outbox(path: configuration.storePath) { log.warning("\($0)") }
    self.outbox = outbox
    let topic = topics.topic(.status)
    var settings = MQTTConfiguration(configuration.mqtt)
    settings.radioTail = configuration.radioTail
    session = try MQTTSession(
      configuration: settings, outbound: OutboxProvider(outbox: outbox),
      handlers: MQTTSession.Handlers(
        connectionChanged: { state in
          Self.report(state, to: log)
          if case .connected = state { connected() }
        },
        will: {
          MQTTMessage(
            topic: topic, payload: will(), qos: .atLeastOnce, retain: true,
            properties: MQTTMessageProperties(contentType: WireMessage.contentType))
        }))
    try session.start()
  }

  func accept(_ drafts: [MessageDraft]) {
    var durable: [RecordDraft] = []
    for draft in drafts {
      if draft.lane == .live {
        session.publishNow(live(draft))
      } else {
        durable.append(record(draft))
      }
    }
    guard !durable.isEmpty else { return }
    outbox.append(durable)
    session.wakeUp()
  }

  var counters: [String: Int] {
    let (sent, store) = (session.statistics, outbox.status)
    return [
      "messages.acknowledged": sent.acknowledged, "messages.rejected": sent.rejected,
      "dropped.live": sent.droppedNow, "connections": sent.connections, "queue.records": store.records,
      "dropped.space": store.lanes.reduce(0) { $0 + $1.droppedForSpace },
      "dropped.age": store.lanes.reduce(0) { $0 + $1.droppedForAge },
    ]
  }

  var radio: EnergyLedger.Usage {
    let link = session.statistics.link
    return EnergyLedger.Usage(seconds: link.seconds, starts: link.bursts, bytes: link.bytes)
  }

  func stop(farewell: MessageDraft) {
    // The farewell is the last word: it follows what is still due, as far as that goes.
    drain()
    accept([farewell])
    drain()
    session.stop(drain: Self.stallLimit)
    let left = outbox.status.records
    if left > 0 { log.warning("left for the next start", metadata: ["records": "\(left)"]) }
    outbox.close()
  }

  /// Waits until the queue is empty or stands still.
  private func drain() {
    var (left, since) = (outbox.status.records, SystemClock.monotonic)
    while left > 0, Double(SystemClock.monotonic - since) * 1e-9 < Self.stallLimit {
      usleep(20_000)
      let now = outbox.status.records
      if now < left { since = SystemClock.monotonic }
      left = now
    }
  }

  private func live(_ draft: MessageDraft) -> MQTTMessage {
    MQTTMessage(
      topic: topics.topic(draft.kind), payload: draft.encode(nil), qos: .atMostOnce, retain: draft.retain,
      properties: MQTTMessageProperties(
        contentType: WireMessage.contentType,
        messageExpiryInterval: draft.expirySeconds.map { UInt32(clamping: $0) }))
  }

  private func record(_ draft: MessageDraft) -> RecordDraft {
    let lane: Lane =
      switch draft.lane {
      case .event: .events
      case .state: .state
      case .track: .tracks
      case .live: .other
      }
    return RecordDraft(
      lane: lane, topic: topics.topic(draft.kind), qos: UInt8(draft.qos), retain: draft.retain,
      contentType: WireMessage.contentType, expiry: draft.expirySeconds.map { UInt32(clamping: $0) },
      createdAt: SystemClock.realtime
    ) { identity in
      draft.encode(MessageIdentity(epoch: identity.epoch, seq: identity.seq))
    }
  }

  private static func report(_ state: MQTTConnectionState, to log: Logger) {
    switch state {
    case .connected: log.info("broker connected")
    case .disconnected(let why, willRetryIn: let wait?):
      log.warning(
        "broker unreachable", metadata: ["reason": "\(why)", "retry_s": "\((wait * 10).rounded() / 10)"])
    case .disconnected: break
    }
  }

  /// Makes the store's folder where only the last part of it is missing, as /var/lib/odographd is on a new machine.
  private static func makeFolder(of path: String) throws {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
    let folder = String(path[..<slash])
    guard mkdir(folder, 0o750) != 0, errno != EEXIST else { return }
    throw SystemError(operation: "make the store's folder", object: "\(folder) (store.path)", code: errno)
  }
}
