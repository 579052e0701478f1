/// What a session wants to receive.
public struct MQTTSubscription: Hashable, Sendable {
  /// Which of a topic's retained messages the broker sends on subscribing (MQTT 5 only).
  public enum RetainHandling: UInt8, Hashable, Sendable {
    case send = 0
    case sendIfNew = 1
    case doNotSend = 2
  }

  /// A topic filter; `$share/GROUP/FILTER` shares the messages among the members of a group.
  public var filter: String
  /// The highest level at which the broker delivers.
  public var qos: QoS
  /// Whether messages keep their sender's retain flag also when they arrive live (MQTT 5 only).
  public var retainAsPublished: Bool
  public var retainHandling: RetainHandling

  public init(
    _ filter: String, qos: QoS = .atLeastOnce, retainAsPublished: Bool = false,
    retainHandling: RetainHandling = .send
  ) {
    self.filter = filter
    self.qos = qos
    self.retainAsPublished = retainAsPublished
    self.retainHandling = retainHandling
  }

  var options: Int32 { (retainAsPublished ? 0x08 : 0) | Int32(retainHandling.rawValue) << 4 }
}

/// What is wanted, what was asked of this connection's broker and what it answered. Pure.
struct SubscriptionLedger {
  enum Request: Equatable {
    case subscribe(MQTTSubscription)
    case unsubscribe(String)
  }

  private var wanted: [MQTTSubscription]
  /// Filters to unsubscribe from at each connection until the broker has answered: its session can have them from before.
  private var unwanted: [String] = []
  private var requests: [Request] = []
  private var underWay: [Int32: Request] = [:]

  init(_ subscriptions: [MQTTSubscription]) { wanted = subscriptions }

  var filters: [String] { wanted.map(\.filter) }

  /// Whether every request was answered.
  var isSettled: Bool { requests.isEmpty && underWay.isEmpty }

  /// A new connection stands: everything is asked for again, also of a broker that says it remembers,
  /// because that repairs a session which is older than the configuration.
  mutating func begin() {
    underWay = [:]
    requests = unwanted.map { .unsubscribe($0) } + wanted.map { .subscribe($0) }
  }

  mutating func add(_ subscription: MQTTSubscription) {
    unwanted.removeAll { $0 == subscription.filter }
    wanted.removeAll { $0.filter == subscription.filter }
    wanted.append(subscription)
    requests.append(.subscribe(subscription))
  }

  mutating func remove(_ filter: String) {
    wanted.removeAll { $0.filter == filter }
    if !unwanted.contains(filter) { unwanted.append(filter) }
    requests.append(.unsubscribe(filter))
  }

  /// Stops the inflow of this connection; the next one subscribes again.
  mutating func suspend(_ filter: String) { requests.append(.unsubscribe(filter)) }

  /// The next request to send, in order.
  mutating func next() -> Request? { requests.isEmpty ? nil : requests.removeFirst() }

  mutating func sent(packet: Int32, _ request: Request) { underWay[packet] = request }

  /// The request that an acknowledgement belongs to; nil when it was none of ours.
  mutating func answered(packet: Int32) -> Request? {
    let request = underWay.removeValue(forKey: packet)
    if case .unsubscribe(let filter) = request { unwanted.removeAll { $0 == filter } }
    return request
  }
}
