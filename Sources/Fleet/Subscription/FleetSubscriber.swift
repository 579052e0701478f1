internal import Glibc
public import MQTT
internal import Platform
internal import Spatial

/// Messages that arrived together.
public struct FleetBatch: Sendable {
  /// In order of arrival; never empty.
  public var messages: [MQTTMessage]
  public var receivedAt: Moment
  private let acknowledgement: (@Sendable () -> Void)?

  package init(messages: [MQTTMessage], receivedAt: Moment, acknowledgement: (@Sendable () -> Void)? = nil) {
    self.messages = messages
    self.receivedAt = receivedAt
    self.acknowledgement = acknowledgement
  }

  /// Tells the broker that the batch is stored and need not be sent again. For the batches of the sequence; those that
  /// a handler is given are acknowledged by what it returns.
  public func acknowledge() { acknowledgement?() }
}

/// What a subscriber tells about its connection.
public enum FleetConnection: Hashable, Sendable {
  /// The broker has accepted, and all subscriptions are asked for.
  case connected
  /// The broker has granted every subscription: what it had kept is under way.
  case subscribed
  /// The broker does not grant a subscription.
  case refused(filter: String, reason: String)
  /// The broker may not do what was asked, and would not say so.
  case doubtful(String)
  /// There is no connection. The subscriber goes on trying.
  case disconnected(MQTTDisconnection)
}

/// The consumer's end of a fleet: receives what vehicles send, in batches, until it is stopped.
///
/// As an `AsyncSequence`, for a backend:
///
///     let broker = MQTTConfiguration.consumer(of: try BrokerAddress(parsing: "mqtts://broker.example"))
///     let session = SubscriberSession(clientID: "backend-1")
///     let fleet = try FleetSubscriber(broker: broker, filters: try FleetSelection().filters(), session: session)
///     for try await batch in fleet {
///       try await database.insert(batch.messages)
///       batch.acknowledge()
///     }
///
/// The broker is told that a message came once its batch, and each before it, is acknowledged. Until then it keeps the
/// message, and with a `clientID` also beyond the end of this process. While the consumer is busy, messages are
/// received up to the session's bounds; then the network holds the broker back. The sequence connects when it is
/// first iterated, bears lost connections, and ends with `leave()`; it has one consumer.
///
/// Or with handlers on the connection's own thread, for a tool that keeps nothing. A batch is acknowledged to the broker only after its handler has returned `.kept`, so a handler that writes to a
/// database first loses nothing when it fails; with a lasting session the broker sends the batch again. Handlers run
/// on the connection's own thread, one at a time, and hold up the connection while they run.
public final class FleetSubscriber: Sendable {
  /// What is called, always on the connection's thread.
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
  /// nil for a subscriber with handlers.
  package let queue: BatchQueue?
  private let level: Locked<UInt8?>

  /// In which version of MQTT the broker speaks: 5, or 4 for 3.1.1; nil before the first connection.
  package var protocolLevel: UInt8? { level.withLock { $0 } }

  /// - Parameters:
  ///   - filters: MQTT topic filters, as from `FleetSelection.filters()`.
  ///   - qos: the highest at which the broker delivers.
  ///   - share: a group whose members split the messages among them. Before it leaves, a member takes all that the
  ///     broker has for it: its handler is called until `stop` returns.
  /// - Throws: `FleetError` when options or filters are wrong.
  public convenience init(
    broker: MQTTConfiguration, filters: [String], qos: QoS = .atLeastOnce, share: String? = nil,
    handlers: Handlers
  ) throws(FleetError) {
    let session = SubscriberSession(share: share)
    var configuration = broker
    configuration.endsSession = share != nil
    // A broker that keeps something of thousands of vehicles sends it at once, and drops what goes beyond this and its
    // queue (mosquitto, unless told otherwise: 1000). The members of a group rather leave it to one another.
    if share == nil { configuration.receiveMaximum = .max }
    try self.init(configuration, try session.filters(filters), qos, handlers, queue: nil)
  }

  /// A subscriber for a tool that ends when it has all that the broker keeps; see `RetainedReading`.
  ///
  /// At QoS 0, at which a broker sends at the connection's own pace; at QoS 1 it drops what is beyond its queue.
  /// - Parameter marked: called when the broker has answered behind the subscriptions: what it keeps came before, or, of a
  ///   broker of several nodes, follows soon.
  package convenience init(
    broker: MQTTConfiguration, readingKept filters: [String], marked: @escaping @Sendable () -> Void,
    handlers: Handlers
  ) throws(FleetError) {
    let mark = RetainedReading.mark(behind: filters).map { (filter: $0, answered: marked) }
    try self.init(broker, filters, .atMostOnce, handlers, queue: nil, mark: mark)
  }

  /// - Parameter mark: a filter to ask for behind the others, and what its answer is told to, granted or not.
  package init(
    _ configuration: MQTTConfiguration, _ filters: [String], _ qos: QoS, _ handlers: Handlers,
    queue: BatchQueue?, mark: (filter: String, answered: @Sendable () -> Void)? = nil
  ) throws(FleetError) {
    self.queue = queue
    let level = Locked<UInt8?>(nil)
    self.level = level
    let waiting = Locked(Set(filters))
    let all = Set(filters)
    let shared = filters.first { $0.hasPrefix("$share/") }
    // Connections in a row that ended without a word before the subscriptions were answered.
    let wordlessEnds = Locked(0)
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
          // MQTT 3.1.1 has no other answer to what a broker does not know.
          let isWordless = reason.phase == .established && reason.cause == .closedByPeer
          if let shared, isWordless, waiting.withLock({ !$0.isEmpty }) {
            let ends = wordlessEnds.withLock { ends in
              ends += 1
              return ends
            }
            if ends == Self.mostWordlessEnds {
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
        if reason.isError {
          handlers.connection(.refused(filter: filter, reason: reason.description))
          return
        }
        let isLast = waiting.withLock { waiting in
          waiting.remove(filter) != nil && waiting.isEmpty
        }
        if isLast {
          wordlessEnds.withLock { $0 = 0 }
          handlers.connection(.subscribed)
        }
      },
      warned: { handlers.connection(.doubtful($0)) })
    do throws(MQTTError) {
      session = try MQTTSession(
        configuration: configuration,
        subscriptions: (filters + [mark?.filter].compactMap(\.self)).map { MQTTSubscription($0, qos: qos) },
        handlers: sessionHandlers)
    } catch { throw FleetError(error) }
  }

  /// A connection may end just then by chance, once.
  private static let mostWordlessEnds = 2
  private static let wordless =
    "the broker ended the connection at it, twice, and may not know shared subscriptions (RabbitMQ before 4 does not: record "
    + "with --from there)"

  private static let doubt =
    "MQTT 3.1.1 has no shared subscriptions, and this broker may have none beside it: when nothing comes, leave out --share"

  /// Starts to connect; returns at once.
  public func start() throws(FleetError) {
    do throws(MQTTError) { try session.start() } catch { throw FleetError(error) }
  }

  /// Leaves the broker and waits until the last batch is dealt with.
  /// - Parameter drain: seconds after which it ends regardless.
  /// - Returns: whether everything was acknowledged.
  @discardableResult
  public func stop(drain: Double = 2) -> Bool { session.stop(drain: drain) }

  /// Batches up to this number are stored.
  package func settle(through number: UInt64) { session.settle(through: number) }

}

extension FleetSubscriber: AsyncSequence {
  public typealias Element = FleetBatch
  public typealias Failure = FleetError

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let subscriber: FleetSubscriber

    /// The next batch; nil after `leave()` or when the task is cancelled.
    /// - Throws: `FleetError` when the broker refuses a subscription, or never let this client in.
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

  /// A subscriber to iterate over.
  /// - Parameters:
  ///   - filters: MQTT topic filters, as from `FleetSelection.filters()`.
  ///   - connection: told of the connection's changes, on the connection's thread.
  /// - Throws: `FleetError` when options or filters are wrong.
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
        // Also a batch of nothing but repetitions waits for what it repeats.
        return .held(queue.push(messages, at: batch.receivedAt))
      },
      connection: { state in
        connection(state)
        switch state {
        case .connected: wasConnected.withLock { $0 = true }
        case .subscribed, .doubtful: break
        case .refused(let filter, let reason): queue.finish(.refused(filter: filter, reason: reason))
        case .disconnected(let reason):
          let isFirst = wasConnected.withLock { !$0 }
          if session.endsUnreached, isFirst, reason.cause != .stopped { queue.finish(FleetError(reason)) }
        }
      })
    try self.init(
      configuration, try session.filters(filters), session.qos, handlers, queue: queue)
    owner.withLock { $0.subscriber = self }
  }

  /// Leaves the broker in order: takes what is under way, and of a shared subscription all that the broker has for
  /// this member, waits until the consumer has acknowledged it, and ends the sequence.
  /// - Parameter drain: seconds after which it leaves regardless; what is not acknowledged then is sent again.
  /// - Returns: whether everything was acknowledged.
  @discardableResult
  public func leave(drain: Double = 30) async -> Bool {
    await withCheckedContinuation { continuation in
      let work: @Sendable () -> Void = { continuation.resume(returning: self.leaveBlocking(drain: drain)) }
      // Waiting for the session blocks, which no thread of the pool must.
      if let thread = try? DedicatedThread.start(name: "leave", work) { thread.detach() } else { work() }
    }
  }

  /// The same for threads that may block.
  package func leaveBlocking(drain: Double) -> Bool {
    let isClean = stop(drain: drain)
    queue?.finish()
    return isClean
  }
}

private struct WeakSubscriber {
  weak var subscriber: FleetSubscriber?
}

/// How a subscriber stands with its broker: what the broker keeps for it while it is away, with whom it shares the
/// messages, and how much it takes in before something is stored.
public struct SubscriberSession: Hashable, Sendable {
  /// The name under which the broker keeps subscriptions and messages while the subscriber is away, 1...65,535 bytes;
  /// one subscriber at a time. nil takes a name of its own and leaves nothing behind.
  public var clientID: String?
  /// Seconds for which the broker keeps them (MQTT 5; under 3.1.1 it keeps them for ever).
  public var expiry: UInt32 = 86_400
  /// Members of a group (`$share/GROUP/…`) split the messages among them. A member that leaves in order takes all
  /// that the broker has for it before it goes, and leaves no session behind.
  public var share: String?
  /// The highest quality of service at which the broker delivers.
  public var qos: QoS = .atLeastOnce
  /// 1...65,535: how many messages of QoS 1 the broker sends ahead of their acknowledgement. Large is fast; a broker
  /// may allow fewer (mosquitto: `max_inflight_messages`).
  public var receiveMaximum: UInt16 = 4000
  /// How many messages the consumer stores at once, about: so many are read before something is stored, and what comes
  /// meanwhile waits in the network.
  public var portion = 2000
  /// How many messages, and bytes of payload, wait here at most for a consumer that stores nothing for a while.
  public var bufferedMessages = 10_000
  public var bufferedBytes = 16 << 20
  /// Leave out messages that came before, and put those of a vehicle that came together into the order of their
  /// numbers.
  public var isOnceInOrder = true

  /// Whether a broker that was never reached ends the sequence; else it is waited for.
  package var endsUnreached = true

  public init(clientID: String? = nil, share: String? = nil) {
    self.clientID = clientID
    self.share = share
  }

  /// The filters as the broker is asked for them.
  /// - Throws: `FleetError` when the group's name cannot stand in a filter.
  package func filters(_ filters: [String]) throws(FleetError) -> [String] {
    guard let share else { return filters }
    guard !share.isEmpty, !share.contains(where: { "/+#\0".contains($0) }) else {
      throw .usage(
        "share in", "group \"\(share.prefix(60))\"",
        "the name of a group is not empty and holds none of / + #")
    }
    return filters.map { "$share/\(share)/\($0)" }
  }

  /// Writes itself into the session's settings.
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
  /// The settings of a consumer, which is back within some seconds of its broker: TLS as the address says, the system's
  /// authorities, and a client identifier of its own.
  public static func consumer(of address: BrokerAddress) -> MQTTConfiguration {
    let random = UInt32.random(in: 0 ... .max)
    var configuration = MQTTConfiguration(
      brokers: [address.broker], clientID: "odograph-\(getpid())-\(String(random, radix: 16))")
    configuration.userName = address.user
    configuration.backoffLimit = 10
    // A broker that does not know MQTT 5 may say so by closing: it is asked with 3.1.1 before anybody hears of a failure.
    configuration.tellsEachBroker = false
    if address.usesTLS { configuration.tls = MQTTTLS(trust: .system) }
    return configuration
  }

  /// Adds the other nodes of a cluster, which are tried when the first does not answer. A node that was cut off says nothing: what
  /// is silent for some seconds is left for the next one.
  package mutating func add(nodes: [Broker]) {
    guard !nodes.isEmpty else { return }
    brokers += nodes
    // Seconds: enough for a slow handshake, and few beside the minutes in which a cluster moves what a node had.
    (keepAlive, connectTimeout) = (10, 10)
  }

  /// What the brokers are called in front of people.
  package var brokerName: String { brokers.map(\.description).joined(separator: ", ") }
}
