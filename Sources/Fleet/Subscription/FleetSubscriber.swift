internal import Glibc
public import MQTT
internal import Platform
internal import Spatial

/// Messages that arrived together.
public struct FleetBatch: Sendable {
  /// The messages in order of arrival; never empty.
  public var messages: [MQTTMessage]
  public var receivedAt: Moment
  private let acknowledgement: (@Sendable () -> Void)?

  package init(messages: [MQTTMessage], receivedAt: Moment, acknowledgement: (@Sendable () -> Void)? = nil) {
    self.messages = messages
    self.receivedAt = receivedAt
    self.acknowledgement = acknowledgement
  }

  /// Acknowledges the batch to the broker; must be called after the batch was stored. It applies to batches
  /// from the asynchronous sequence. For a batch passed to a handler, the handler's return value decides.
  public func acknowledge() { acknowledgement?() }
}

/// A change of a subscriber's connection.
public enum FleetConnection: Hashable, Sendable {
  /// The broker accepted the connection, and all subscriptions were sent.
  case connected
  /// The broker granted all subscriptions; it sends retained messages next.
  case subscribed
  /// The broker rejected a subscription. It is reported once per connection, even if the subscription is
  /// requested again.
  case refused(filter: String, reason: String)
  /// The broker may not support a feature that was requested; with a sentence for the user.
  case doubtful(String)
  /// A message was dropped because the MQTT library rejects its text; with the reason. The connection is
  /// unaffected.
  case dropped(String)
  /// The connection is lost. The subscriber tries to reconnect until it is stopped.
  case disconnected(MQTTDisconnection)
}

/// A consumer of a fleet's messages in batches.
///
/// As an `AsyncSequence`, for a backend:
///
///     let broker = MQTTConfiguration.consumer(of: try BrokerAddress(parsing: "mqtts://broker.example"))
///     let session = SubscriberSession(clientID: "backend-1")
///     let filters = try FleetSelection().filters()
///     let fleet = try FleetSubscriber(broker: broker, filters: filters, session: session)
///     for try await batch in fleet {
///       try await database.insert(batch.messages)
///       batch.acknowledge()
///     }
///
/// A message is acknowledged to the broker when its batch and all earlier batches are acknowledged. Until
/// then the broker stores the message; with a `clientID` it does so even after this process has exited. While
/// the consumer is busy, messages are received up to the session's limits. Beyond them, TCP flow control
/// slows the broker down. The sequence connects at its first iteration, reconnects automatically, and ends
/// with `leave()`. It has one consumer.
///
/// Or with handlers, for a tool that stores nothing. A batch is acknowledged only after its handler has
/// returned `.kept`. If the handler writes to a database before it returns, no message is lost by a failure:
/// with a persistent session, the broker sends the batch again. Handlers run on the connection's thread, one
/// at a time, and block the connection.
public final class FleetSubscriber: Sendable {
  /// The callbacks of a subscriber. They are called on the connection's thread.
  public struct Handlers: Sendable {
    public var received: @Sendable (FleetBatch) -> MQTTSession.BatchOutcome
    public var connection: @Sendable (FleetConnection) -> Void

    public init(
      received: @escaping @Sendable (FleetBatch) -> MQTTSession.BatchOutcome,
      connection: @escaping @Sendable (FleetConnection) -> Void = { _ in }
    ) {
      self.received = received
      self.connection = connection
    }
  }

  private let session: MQTTSession
  /// The queue of the asynchronous sequence; nil for a subscriber with handlers.
  package let queue: BatchQueue?
  private let level: Locked<UInt8?>

  /// The broker's MQTT protocol level: 5, or 4 for 3.1.1; nil before the first connection.
  package var protocolLevel: UInt8? { level.withLock { $0 } }

  /// Creates a subscriber with handlers.
  ///
  /// - Parameters:
  ///   - broker: the broker and the connection's settings.
  ///   - filters: MQTT topic filters, such as those of `FleetSelection.filters()`.
  ///   - qos: the maximum quality of service.
  ///   - share: the name of a shared subscription, whose members split the messages. On `stop`, a member
  ///     first receives all messages that the broker has assigned to it; its handler is called until `stop`
  ///     returns.
  ///   - handlers: the callbacks.
  /// - Throws: `FleetError` for invalid options or filters.
  public convenience init(
    broker: MQTTConfiguration, filters: [String], qos: QoS = .atLeastOnce, share: String? = nil,
    handlers: Handlers
  ) throws(FleetError) {
    let session = SubscriberSession(share: share)
    var configuration = broker
    configuration.endsSession = share != nil
    // A broker sends the retained messages of thousands of vehicles at once. It drops messages that exceed
    // this limit and its own queue (mosquitto: 1000 by default). With a shared subscription, a lower limit
    // leaves messages to other members instead.
    if share == nil { configuration.receiveMaximum = .max }
    try self.init(configuration, try session.filters(filters), qos, handlers, queue: nil)
  }

  /// Creates a subscriber for a tool that exits after it has received all retained messages; see
  /// `RetainedReading`.
  ///
  /// The subscriber uses QoS 0, at which a broker sends as fast as the connection permits. At QoS 1, the
  /// broker drops messages that exceed its queue.
  /// - Parameter marked: called when the broker has answered the marker subscription. The retained messages
  ///   have arrived by then, or, with a cluster of brokers, follow soon.
  package convenience init(
    broker: MQTTConfiguration, readingKept filters: [String], marked: @escaping @Sendable () -> Void,
    handlers: Handlers
  ) throws(FleetError) {
    let mark = RetainedReading.mark(behind: filters).map { (filter: $0, answered: marked) }
    try self.init(broker, filters, .atMostOnce, handlers, queue: nil, mark: mark)
  }

  /// Creates a subscriber.
  ///
  /// - Parameters:
  ///   - mark: a marker filter that is subscribed to after all others, and a function that is called
  ///   when the broker grants or rejects it.
  ///   - kept: further filters for retained messages, at QoS 0. They are subscribed to before all others: if
  ///   the messages at QoS 1 fill the broker's queue, it also drops messages at QoS 0. A rejection of such a
  ///   filter is not a change of the connection.
  ///   - retriesRefused: true to request rejected `filters` again after growing pauses.
  ///   - outbound: the provider of messages to publish; nil for none.
  ///   - answered: called with the broker's answer to each filter except the marker filter.
  package init(
    _ configuration: MQTTConfiguration, _ filters: [String], _ qos: QoS, _ handlers: Handlers,
    queue: BatchQueue?, mark: (filter: String, answered: @Sendable () -> Void)? = nil, kept: [String] = [],
    retriesRefused: Bool = false, outbound: (any OutboundProvider)? = nil,
    answered: @escaping @Sendable (_ filter: String, MQTTReasonCode) -> Void = { _, _ in }
  ) throws(FleetError) {
    self.queue = queue
    let level = Locked<UInt8?>(nil)
    self.level = level
    let waiting = Locked(Set(filters))
    let refused = Locked(Set<String>())
    let all = Set(filters)
    let shared = filters.first { $0.hasPrefix("$share/") }
    // The number of consecutive connections that the broker closed without a reason before it answered the
    // subscriptions.
    let silentDisconnects = Locked(0)
    let wasDoubted = Locked(false)
    let isFirstDoubt: @Sendable () -> Bool = {
      wasDoubted.withLock { wasDoubted in
        defer { wasDoubted = true }
        return !wasDoubted
      }
    }
    let sessionHandlers = MQTTSession.Handlers(
      connectionChanged: { state in
        switch state {
        case .connected(let properties):
          waiting.withLock { $0 = all }
          refused.withLock { $0 = [] }
          level.withLock { $0 = properties.protocolLevel }
          handlers.connection(.connected)
          guard let shared else { break }
          if !properties.sharedSubscriptionsAvailable {
            handlers.connection(.refused(filter: shared, reason: "the broker has no shared subscriptions"))
          } else if properties.protocolLevel < 5, isFirstDoubt() {
            handlers.connection(.doubtful(Self.doubt))
          }
        case .disconnected(let reason, _):
          if let shared, reason.cause == .disconnectedByServer(.sharedSubscriptionsNotSupported) {
            handlers.connection(.refused(filter: shared, reason: "the broker has no shared subscriptions"))
            return
          }
          // Under MQTT 3.1.1, a broker that does not support a request closes the connection without a
          // reason.
          let isSilentDisconnect = reason.phase == .established && reason.cause == .closedByPeer
          if let shared, isSilentDisconnect, waiting.withLock({ !$0.isEmpty }) {
            let ends = silentDisconnects.withLock { ends in
              ends += 1
              return ends
            }
            if ends == Self.maxSilentDisconnects {
              handlers.connection(.refused(filter: shared, reason: Self.wordless))
              return
            }
          }
          handlers.connection(.disconnected(reason))
        }
      },
      received: { messages in
        handlers.received(FleetBatch(messages: messages, receivedAt: .now))
      },
      subscriptionAnswered: { filter, reason in
        if let mark, filter == mark.filter { return mark.answered() }
        answered(filter, reason)
        guard all.contains(filter) else { return }
        if reason.isError {
          guard refused.withLock({ $0.insert(filter).inserted }) else { return }
          handlers.connection(.refused(filter: filter, reason: reason.description))
          return
        }
        let isLast = waiting.withLock { waiting in
          waiting.remove(filter) != nil && waiting.isEmpty
        }
        if isLast {
          silentDisconnects.withLock { $0 = 0 }
          handlers.connection(.subscribed)
        }
      },
      warned: { handlers.connection(.dropped($0)) })
    do throws(OperationError) {
      session = try MQTTSession(
        configuration: configuration,
        subscriptions: kept.map { MQTTSubscription($0, qos: .atMostOnce) }
          + filters.map { MQTTSubscription($0, qos: qos, isRetried: retriesRefused) }
          + (mark.map { [MQTTSubscription($0.filter, qos: qos)] } ?? []),
        outbound: outbound, handlers: sessionHandlers)
    } catch { throw FleetError(error) }
  }

  /// The number of silent disconnections at which the subscription counts as rejected. A single one can be a
  /// coincidence.
  private static let maxSilentDisconnects = 2
  private static let wordless =
    "the broker closed the connection twice at this request, and may not support shared subscriptions (RabbitMQ before 4 "
    + "does not: record with --from there)"

  private static let doubt =
    "MQTT 3.1.1 has no shared subscriptions, and this broker may not support them: if no messages arrive, leave out --share"

  /// Starts connecting, and returns immediately.
  public func start() throws(FleetError) {
    do throws(OperationError) { try session.start() } catch { throw FleetError(error) }
  }

  /// Disconnects, and waits until the last batch has been processed.
  /// - Parameter drain: the maximum time in s to wait.
  /// - Returns: true if all received messages were acknowledged.
  @discardableResult
  public func stop(drain: Double = 2) -> Bool { session.stop(drain: drain) }

  /// Removes subscriptions that an earlier run has left in the broker's session.
  /// - Parameters:
  ///   - filters: the topic filters of the earlier run, without the prefix of a shared subscription.
  ///   - settings: the session's settings.
  package func unsubscribe(_ filters: [String], session settings: SubscriberSession) throws(FleetError) {
    for filter in try settings.filters(filters) { session.unsubscribe(filter) }
  }

  /// Removes a subscription.
  package func unsubscribe(_ filter: String) { session.unsubscribe(filter) }

  /// Notifies the connection that the provider has new messages.
  package func wakeUp() { session.wakeUp() }

  /// Records that all batches up to a number are stored, so that they are acknowledged to the broker.
  package func settle(through number: UInt64) { session.settle(through: number) }

}

extension FleetSubscriber: AsyncSequence {
  public typealias Element = FleetBatch
  public typealias Failure = FleetError

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let subscriber: FleetSubscriber

    /// Returns the next batch; nil after `leave()`, and if the task is cancelled.
    /// - Throws: `FleetError` if the broker rejects a subscription, or if no connection could ever be
    ///   established.
    public mutating func next() async throws(FleetError) -> FleetBatch? {
      try await next(isolation: nil)
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(FleetError) -> FleetBatch?
    {
      guard let queue = subscriber.queue else { return nil }
      try subscriber.start()
      return try await queue.next()
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscriber: self) }

  /// Creates a subscriber that is used as an asynchronous sequence.
  /// - Parameters:
  ///   - broker: the broker and the connection's settings.
  ///   - filters: MQTT topic filters, such as those of `FleetSelection.filters()`.
  ///   - session: the session's settings.
  ///   - connection: called with changes of the connection, on the connection's thread.
  /// - Throws: `FleetError` for invalid options or filters.
  public convenience init(
    broker: MQTTConfiguration, filters: [String], session: SubscriberSession,
    connection: @escaping @Sendable (FleetConnection) -> Void = { _ in }
  ) throws(FleetError) {
    var configuration = broker
    session.apply(to: &configuration)
    let owner = Locked(WeakSubscriber())
    let queue = try BatchQueue { number in owner.withLock { $0.subscriber }?.settle(through: number) }
    let sequencer = session.isOnceInOrder ? Locked(MessageSequencer()) : nil
    let capacity = 2 * session.bufferedMessages + 2 * Int(session.receiveMaximum)
    let wasConnected = Locked(false)
    let handlers = Handlers(
      received: { batch in
        guard queue.count <= capacity else { return .notKept("the consumer is too far behind") }
        let messages = sequencer.map { $0.withLock { $0.filter(batch.messages) } } ?? batch.messages
        // A batch in which every message is a duplicate is empty after filtering. It is queued, too, because
        // the original messages may not be stored yet.
        return .held(queue.push(messages, at: batch.receivedAt))
      },
      connection: { state in
        connection(state)
        switch state {
        case .connected: wasConnected.withLock { $0 = true }
        case .subscribed, .doubtful, .dropped: break
        case .refused(let filter, let reason):
          if session.endsUnreached { queue.finish(.refused(filter: filter, reason: reason)) }
        case .disconnected(let reason):
          let isFirst = wasConnected.withLock { !$0 }
          if session.endsUnreached, isFirst, reason.cause != .stopped { queue.finish(FleetError(reason)) }
        }
      })
    try self.init(
      configuration, try session.filters(filters), session.qos, handlers, queue: queue,
      retriesRefused: !session.endsUnreached)
    owner.withLock { $0.subscriber = self }
  }

  /// Receives the messages in transit and, with a shared subscription, all messages assigned to this member.
  /// Then waits until the consumer has acknowledged everything, disconnects, and ends the sequence.
  /// - Parameter drain: the maximum time in s to wait. The broker sends messages again that are not
  ///   acknowledged by then.
  /// - Returns: true if all received messages were acknowledged.
  @discardableResult
  public func leave(drain: Double = 30) async -> Bool {
    await withCheckedContinuation { continuation in
      let work: @Sendable () -> Void = { continuation.resume(returning: self.leaveBlocking(drain: drain)) }
      // Waiting for the session blocks the thread, which is not allowed on the cooperative pool.
      if let thread = try? DedicatedThread.start(name: "leave", work) { thread.detach() } else { work() }
    }
  }

  /// Does the same as `leave`, but blocks the calling thread.
  package func leaveBlocking(drain: Double) -> Bool {
    let isClean = stop(drain: drain)
    queue?.finish()
    return isClean
  }
}

private struct WeakSubscriber {
  weak var subscriber: FleetSubscriber?
}

/// The session settings of a subscriber: whether the broker stores messages while it is disconnected, the
/// shared subscription, and limits of unacknowledged messages.
public struct SubscriberSession: Hashable, Sendable {
  /// The client identifier, 1...65,535 bytes, unique among connected clients. While the subscriber is
  /// disconnected, the broker stores subscriptions and messages under it. Nil for a random identifier, whose
  /// session the broker discards.
  public var clientID: String?
  /// The time in s for which the broker stores the session after a disconnection. It applies to MQTT 5; under
  /// MQTT 3.1.1 the broker decides.
  public var expiry: UInt32 = 86_400
  /// The name of a shared subscription (`$share/GROUP/…`), whose members split the messages; nil for none. A
  /// member that calls `leave` first receives all messages assigned to it, and leaves no session behind.
  public var share: String?
  /// The maximum quality of service.
  public var qos: QoS = .atLeastOnce
  /// The number of QoS 1 messages that the broker may send before they are acknowledged, 1...65,535. A large
  /// value is fast. The broker can have a lower limit (mosquitto: `max_inflight_messages`).
  public var receiveMaximum: UInt16 = 4000
  /// The approximate number of messages that the consumer stores at once. The subscriber reads this many
  /// messages before the consumer has stored any; further ones wait in the network.
  public var portion = 2000
  /// The maximum number of messages that this process buffers for a slow consumer.
  public var bufferedMessages = 10_000
  /// The maximum size in bytes of the payloads that this process buffers for a slow consumer.
  public var bufferedBytes = 16 << 20
  /// True to remove duplicates, and to sort each vehicle's messages in a batch by their sequence numbers.
  public var isOnceInOrder = true

  /// True if the sequence ends with an error when the first connection fails or the broker rejects a
  /// subscription; false to retry.
  package var endsUnreached = true

  public init(clientID: String? = nil, share: String? = nil) {
    self.clientID = clientID
    self.share = share
  }

  /// Returns the filters as they are sent to the broker, with the prefix of a shared subscription.
  /// - Throws: `FleetError` for an invalid group name.
  package func filters(_ filters: [String]) throws(FleetError) -> [String] {
    guard let share else { return filters }
    guard !share.isEmpty, !share.contains(where: { "/+#\0".contains($0) }) else {
      throw .usage(
        "share in", "group \"\(share.prefix(60))\"",
        "a group name must not be empty, and must not contain / + #")
    }
    return filters.map { "$share/\(share)/\($0)" }
  }

  /// Applies the session settings to an MQTT configuration.
  package func apply(to configuration: inout MQTTConfiguration) {
    configuration.receiveMaximum = max(1, receiveMaximum)
    configuration.heldPortion = max(1, portion)
    configuration.heldMessages = max(1, bufferedMessages)
    configuration.heldBytes = max(1, bufferedBytes)
    configuration.endsSession = share != nil
    guard let clientID else { return }
    configuration.clientID = clientID
    configuration.cleanStart = false
    configuration.sessionExpiryInterval = expiry
  }
}

extension MQTTConfiguration {
  /// Returns the configuration of a consumer that reconnects within some seconds. It uses TLS if the address
  /// requires it, the system's certificate authorities, and a random client identifier.
  public static func consumer(of address: BrokerAddress) -> MQTTConfiguration {
    let random = UInt32.random(in: 0 ... .max)
    var configuration = MQTTConfiguration(
      brokers: [address.broker], clientID: "odograph-\(getpid())-\(String(random, radix: 16))")
    configuration.userName = address.user
    configuration.backoffLimit = 10
    // A broker without MQTT 5 can close the connection instead of answering. MQTT 3.1.1 is then tried before
    // a failure is reported.
    configuration.reportsEachBroker = false
    if address.usesTLS { configuration.tls = MQTTTLS(trust: .system) }
    return configuration
  }

  /// Adds the other nodes of a cluster. If a node does not answer within some seconds, the next one is tried.
  package mutating func add(nodes: [Broker]) {
    guard !nodes.isEmpty else { return }
    brokers += nodes
    // Ten seconds are enough for a slow handshake, and short compared to the minutes that a cluster needs for
    // a failover.
    (keepAlive, connectTimeout) = (10, 10)
  }

  /// The names of the brokers for display, separated by commas.
  package var brokerName: String { brokers.map(\.description).joined(separator: ", ") }
}
