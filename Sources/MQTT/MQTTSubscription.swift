internal import Platform

/// A subscription: filter, QoS and options.
public struct MQTTSubscription: Hashable, Sendable {
  /// The retained messages that the broker sends after a subscription (MQTT 5 only).
  public enum RetainHandling: UInt8, Hashable, Sendable {
    case send = 0
    case sendIfNew = 1
    case doNotSend = 2
  }

  /// Topic filter; `$share/GROUP/FILTER` shares the messages among the members of a group.
  public var filter: String
  /// Maximum QoS of delivered messages.
  public var qos: QoS
  /// True if live messages retain their sender's retain flag (MQTT 5 only).
  public var retainAsPublished: Bool
  public var retainHandling: RetainHandling
  /// True to request the subscription again after a pause if the broker rejects it. The pauses grow from 1 s
  /// to 1 min.
  public var isRetried: Bool

  public init(
    _ filter: String, qos: QoS = .atLeastOnce, retainAsPublished: Bool = false,
    retainHandling: RetainHandling = .send, isRetried: Bool = false
  ) {
    self.filter = filter
    self.qos = qos
    self.retainAsPublished = retainAsPublished
    self.retainHandling = retainHandling
    self.isRetried = isRetried
  }

  var options: Int32 { (retainAsPublished ? 0x08 : 0) | Int32(retainHandling.rawValue) << 4 }
}

/// Desired subscriptions, requests on this connection, and the broker's answers. Pure.
struct SubscriptionLedger {
  enum Request: Equatable {
    case subscribe(MQTTSubscription)
    case unsubscribe(String)
  }

  private var wanted: [MQTTSubscription]
  /// Filters of removed subscriptions. Each connection unsubscribes from them until the broker has answered,
  /// because its session may still contain them.
  private var unwanted: [String] = []
  private var requests: [Request] = []
  private var underWay: [Int32: Request] = [:]
  /// Rejected subscriptions with the time at which they are requested again.
  private var retries: [(time: MonotonicTime, subscription: MQTTSubscription)] = []
  /// Number of consecutive rejections of a filter.
  private var rejections: [String: Int] = [:]

  private static let firstPause = 1.0
  private static let longestPause = 60.0

  init(_ subscriptions: [MQTTSubscription]) { wanted = subscriptions }

  var filters: [String] { wanted.map(\.filter) }

  /// True if every request was answered.
  var isSettled: Bool { requests.isEmpty && underWay.isEmpty }

  /// The packet identifier of the oldest unanswered request, except after identifiers started again from 1;
  /// nil if all were answered.
  var oldest: UInt64? { underWay.keys.min().map { UInt64(clamping: $0) } }

  /// Time at which a rejected subscription is requested again; nil for none.
  var deadline: MonotonicTime? { retries.lazy.map { $0.time }.min() }

  /// Starts a new connection. All subscriptions are requested again even if the broker has a session, because
  /// the session's state may be older than the configuration.
  mutating func begin() {
    underWay = [:]
    retries = []
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

  /// Unsubscribes for the current connection only; the next connection subscribes again.
  mutating func suspend(_ filter: String) { requests.append(.unsubscribe(filter)) }

  /// Returns the next request to send, in order.
  mutating func next() -> Request? { requests.isEmpty ? nil : requests.removeFirst() }

  /// Records the broker's answer to a subscription request.
  mutating func settle(_ subscription: MQTTSubscription, isRejected: Bool, at now: MonotonicTime) {
    guard isRejected, subscription.isRetried else {
      rejections[subscription.filter] = nil
      return
    }
    let count = rejections[subscription.filter, default: 0]
    rejections[subscription.filter] = count + 1
    let pause = min(Self.firstPause * Double(1 << min(count, 6)), Self.longestPause)
    retries.append((now.advanced(bySeconds: pause), subscription))
  }

  /// Requests rejected subscriptions again whose pause has ended.
  mutating func tick(now: MonotonicTime) {
    guard let deadline, deadline <= now else { return }
    for retry in retries where retry.time <= now && wanted.contains(retry.subscription) {
      requests.append(.subscribe(retry.subscription))
    }
    retries.removeAll { $0.time <= now }
  }

  mutating func sent(packet: Int32, _ request: Request) { underWay[packet] = request }

  /// Returns the request that a packet identifier in an acknowledgement belongs to; nil if there is none.
  mutating func answered(packet: Int32) -> Request? {
    let request = underWay.removeValue(forKey: packet)
    if case .unsubscribe(let filter) = request { unwanted.removeAll { $0 == filter } }
    return request
  }
}
