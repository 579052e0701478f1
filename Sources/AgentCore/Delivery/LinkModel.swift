internal import MQTT
internal import Positioning
internal import Spatial
internal import StoreAndForward
internal import Telemetry

/// Expected traffic of the link to a broker in simulated time, for recordings, simulations and estimates.
///
/// It follows `LinkPlan` and opens and closes the link as `MQTTSession` does: events open it, state and
/// tracks wait for it, and live values (QoS 0) are sent only while it is open and do not prolong it. Failing
/// networks are not modelled.
struct LinkModel {
  /// Bytes to establish a connection, without and with TLS: handshakes, subscriptions, certificates.
  private static let (handshake, secureHandshake) = (600, 5000)
  private static let pingBytes = 4
  /// Bytes per message besides topic and payload: header, lengths and content type; packet identifier and
  /// acknowledgement; expiry.
  private static let (framing, acknowledgement, expiry) = (25, 6, 5)
  private static let identity = MessageIdentity(epoch: "0123456789abcdef", seq: 12_345)

  private struct Message {
    var kind: String
    var topic: String
    var lane: DeliveryLane?
    var bytes: Int
  }

  private var plan: LinkPlan
  private var burst = QuietBurst()
  private var meter: LinkMeter
  private var formats: MessageFormats
  private let connectionBytes: Int
  private var carried = 0
  private var lastCarried = Timestamp(nanoseconds: 0)
  private var isOpen = false
  /// Time of the last opening; nil before the first.
  private var opened: Timestamp?
  private var now: Timestamp
  /// Time of the last durable message or ping, from which the end of a burst and the next ping are counted.
  private var lastBusy: Timestamp
  /// Messages that wait for the link, as in the outbox: in the state lane only the newest of each topic.
  private var waiting: [Message] = []
  private var lastStatus: Message?
  /// Bytes of sent messages by kind.
  private(set) var bytes: [String: Double] = [:]
  /// Number of sent messages by kind.
  private(set) var messages: [String: Double] = [:]
  /// Bytes of connections and pings.
  private(set) var overhead = 0.0

  init(_ configuration: AgentConfiguration.MQTT, formats: MessageFormats, start: Timestamp) {
    plan = LinkPlan(configuration)
    meter = LinkMeter(tail: configuration.client.radioTail)
    self.formats = formats
    connectionBytes = configuration.client.tls == nil ? Self.handshake : Self.secureHandshake
    (lastBusy, now) = (start, start)
  }

  /// Use of the radio since the start, without joules.
  var radio: EnergyAccount {
    EnergyAccount(seconds: meter.use.seconds, starts: meter.use.bursts, bytes: meter.use.bytes)
  }

  /// Advances the time, and updates whether the vehicle is at rest.
  mutating func advance(to time: Timestamp, isAtRest: Bool) {
    now = max(now, time)
    advance()
    let before = plan.choice.policy
    if let choice = plan.observe(isAtRest: isAtRest, at: now) {
      if before == .standing {
        lastBusy = now
        // A changed keepalive requires a new connection.
        if choice.policy == .standing { isOpen = false }
      }
      advance()
    }
    guard burst.advance(to: now, plan), let lastStatus else { return }
    waiting.append(lastStatus)
    sendWaiting(at: now)
  }

  /// Accepts messages at the current time of `advance`.
  mutating func accept(_ messages: [VehicleMessage]) {
    for message in messages {
      for publication in formats.encode(Self.complete(message)) {
        accept(Self.counted(publication, kind: message.path))
      }
    }
  }

  private mutating func accept(_ message: Message) {
    if message.kind == MessageKind.status.rawValue {
      lastStatus = message
      if burst.holds(plan, at: now) { return }
    }
    guard let lane = message.lane else {
      if isOpen { send(message, at: now) }
      return
    }
    if lane == .state { waiting.removeAll { $0.lane == .state && $0.topic == message.topic } }
    waiting.append(message)
    let isUrgent = lane == .events
    if isUrgent, burst.end(), let lastStatus { waiting.append(lastStatus) }
    // In bursts, only state messages extend a burst: a track that grows continuously would otherwise keep the
    // link open.
    let belongsToBurst = lane == .state || plan.choice.policy == .standing
    if isOpen, isUrgent || belongsToBurst {
      sendWaiting(at: now)
    } else if isUrgent {
      open(at: now)
    }
  }

  private mutating func advance() {
    while let (due, step) = nextStep, due <= now {
      switch step {
      case .open: open(at: due)
      case .ping:
        overhead += Double(Self.pingBytes)
        carry(Self.pingBytes, at: due)
        lastBusy = due
      case .close:
        if let lastStatus {
          send(lastStatus, at: due)
          burst.announce()
        }
        isOpen = false
      }
    }
  }

  private enum Step { case open, ping, close }

  /// The next step of the session that occurs if no message is sent; nil if there is none.
  private var nextStep: (due: Timestamp, step: Step)? {
    let keepAlive = Double(plan.choice.keepAlive)
    let ping = keepAlive > 0 ? (due: lastBusy.advanced(bySeconds: keepAlive), step: Step.ping) : nil
    guard case .bursts(let linger, let interval) = plan.choice.policy else {
      return isOpen ? ping : (now, .open)
    }
    if isOpen {
      let close = (due: lastBusy.advanced(bySeconds: linger), step: Step.close)
      return ping.map { $0.due < close.due ? $0 : close } ?? close
    }
    guard let opened else { return (now, .open) }
    return interval.map { (max(lastBusy, opened.advanced(bySeconds: $0)), .open) }
  }

  /// Opens a session, which sends a new `status`, unless the burst is quiet, and all waiting messages.
  private mutating func open(at time: Timestamp) {
    (isOpen, opened) = (true, time)
    overhead += Double(connectionBytes)
    carry(connectionBytes, at: time)
    burst.attempt()
    burst.connect(at: time)
    if let lastStatus, !burst.holds(plan, at: time) {
      waiting.removeAll { $0.topic == lastStatus.topic }
      waiting.append(lastStatus)
    }
    sendWaiting(at: time)
  }

  private mutating func sendWaiting(at time: Timestamp) {
    for message in waiting { send(message, at: time) }
    waiting = []
    lastBusy = max(lastBusy, time)
  }

  private mutating func send(_ message: Message, at time: Timestamp) {
    bytes[message.kind, default: 0] += Double(message.bytes)
    messages[message.kind, default: 0] += 1
    carry(message.bytes, at: time)
  }

  private mutating func carry(_ bytes: Int, at time: Timestamp) {
    carried += bytes
    // The time of a ping may precede that of the last sent live value, but the meter requires ascending
    // times.
    lastCarried = max(lastCarried, time)
    _ = meter.observe(carried: carried, at: lastCarried)
  }

  private static func counted(_ publication: Publication, kind: String) -> Message {
    let payload = publication.payload(identity: publication.lane == nil ? nil : identity)
    return Message(
      kind: kind, topic: publication.topic, lane: publication.lane,
      bytes: framing + (publication.qos == 0 ? 0 : acknowledgement)
        + (publication.expiry == nil ? 0 : expiry) + publication.topic.utf8.count + payload.count)
  }

  // MARK: Length of a status

  /// Returns a `status` of realistic length, with delivery counters and the health of a small computer.
  private static func complete(_ message: VehicleMessage) -> VehicleMessage {
    guard case .status(var status) = message else { return message }
    status.counters = BrokerDelivery.counters(MQTTStatistics(), .empty)
      .merging(status.counters.filter { $0.key != "messages.printed" }) { $1 }
    status.device = status.device ?? deviceHealth
    return .status(status)
  }

  private static let deviceHealth: DeviceHealth = {
    var health = DeviceHealth()
    health.model = "Raspberry Pi 4 Model B Rev 1.5"
    health.system = DeviceHealth.System(name: "Debian GNU/Linux 12 (bookworm)", kernel: "6.1.0-18-arm64")
    health.processors = 4
    health.battery = DeviceHealth.Battery(level: 0.87, isCharging: true, voltage: 12.6)
    health.externalPower = true
    health.storage = DeviceHealth.Storage(free: 12_884_901_888, total: 31_268_536_320)
    health.memory = DeviceHealth.Memory(resident: 18_874_368, available: 3_221_225_472, total: 3_976_200_192)
    health.temperature = 48.7
    return health
  }()
}
