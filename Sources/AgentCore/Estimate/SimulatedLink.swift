internal import MQTT
internal import Sensors
internal import Spatial
internal import Telemetry

/// The link of a simulated day: what waits for it, when it is open, and what the radio does for it, by the link plan and the
/// meter of the agent.
struct SimulatedLink {
  /// Bytes of a connection: handshakes and subscriptions; with TLS, certificates.
  private static let (handshake, secureHandshake) = (600, 5000)
  private static let pingBytes = 4

  private var plan: LinkPlan
  private var meter: LinkMeter
  private let connectionBytes: Int
  private var carried = 0
  private var isOpen = false
  /// When the link carried something last.
  private var lastTraffic: Timestamp
  private var lastClose: Timestamp
  /// What waits for the link, as in the outbox: in the state lane the newest of each topic.
  private var waiting: [Message] = []
  /// Bytes of messages that were sent, by kind.
  private(set) var messages: [String: Double] = [:]
  /// Bytes that are no messages.
  private(set) var overhead = 0
  private(set) var connections = 0

  var use: LinkUse { meter.use }

  init(_ configuration: AgentConfiguration, start: Timestamp) {
    plan = LinkPlan(configuration.mqtt)
    meter = LinkMeter(tail: configuration.mqtt.client.radioTail)
    connectionBytes = configuration.mqtt.client.tls == nil ? Self.handshake : Self.secureHandshake
    (lastTraffic, lastClose) = (start, start)
  }

  struct Message {
    var kind: String
    var topic: String
    /// Nil is sent now or never.
    var lane: DeliveryLane?
    var bytes: Int
  }

  /// What is to be done about the agent's messages when the link changes.
  enum Change {
    /// A new session wants a new `status`.
    case opened
    /// The last `status` is said again as `asleep`.
    case closing
  }

  mutating func observe(isAtRest: Bool, at time: Timestamp) { _ = plan.observe(isAtRest: isAtRest, at: time) }

  /// A message that is sent when the link is open next. An event opens it.
  mutating func send(_ message: Message, at time: Timestamp) -> Change? {
    if isOpen {
      carry(message, at: time)
    } else if let lane = message.lane {
      if lane == .state { waiting.removeAll { $0.lane == .state && $0.topic == message.topic } }
      waiting.append(message)
      if lane == .events { return open(at: time) }
    }
    return nil
  }

  /// Lets time pass.
  mutating func advance(to time: Timestamp) -> Change? {
    switch plan.choice.policy {
    case .standing:
      guard isOpen else { return open(at: time) }
      let keepAlive = Double(plan.choice.keepAlive)
      while keepAlive > 0, time.seconds(since: lastTraffic) >= keepAlive {
        overhead += Self.pingBytes
        carry(Self.pingBytes, at: lastTraffic.advanced(bySeconds: keepAlive))
      }
    case .bursts(let linger, let interval):
      if isOpen {
        guard time.seconds(since: lastTraffic) >= linger else { return nil }
        isOpen = false
        lastClose = time
        return .closing
      }
      if connections == 0 || interval.map({ time.seconds(since: lastClose) >= $0 }) ?? false {
        return open(at: time)
      }
    }
    return nil
  }

  /// The `asleep` at the end of a burst.
  mutating func sendLast(_ message: Message, at time: Timestamp) { carry(message, at: time) }

  private mutating func open(at time: Timestamp) -> Change {
    isOpen = true
    connections += 1
    overhead += connectionBytes
    carry(connectionBytes, at: time)
    for message in waiting { carry(message, at: time) }
    waiting = []
    return .opened
  }

  private mutating func carry(_ message: Message, at time: Timestamp) {
    messages[message.kind, default: 0] += Double(message.bytes)
    carry(message.bytes, at: time)
  }

  private mutating func carry(_ bytes: Int, at time: Timestamp) {
    carried += bytes
    _ = meter.observe(carried: carried, at: time.nanoseconds)
    lastTraffic = max(lastTraffic, time)
  }
}
