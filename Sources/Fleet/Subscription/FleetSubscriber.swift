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
  /// There is no connection. The subscriber goes on trying.
  case disconnected(MQTTDisconnection)
}

/// The consumer's end of a fleet: receives what vehicles send, in batches, until it is stopped.
///
/// As an `AsyncSequence`, for a backend:
///
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

  /// - Parameters:
  ///   - filters: MQTT topic filters, as from `FleetSelection.filters()`.
  ///   - qos: the highest at which the broker delivers.
  ///   - share: a group whose members split the messages among them. Before it leaves, a member takes all that the
  ///     broker has for it: its handler is called until `stop` returns.
  /// - Throws: `FleetError` when options or filters are wrong.
  public convenience init(
    broker: BrokerOptions, filters: [String], qos: QoS = .atLeastOnce, share: String? = nil,
    handlers: Handlers
  ) throws(FleetError) {
    let session = SubscriberSession(share: share)
    var configuration = try broker.configuration()
    configuration.endsSession = share != nil
    // A broker that keeps something of thousands of vehicles sends it at once, and drops what goes beyond this and its
    // queue (mosquitto, unless told otherwise: 1000). The members of a group rather leave it to one another.
    if share == nil { configuration.receiveMaximum = .max }
    try self.init(configuration, try session.filters(filters), qos, handlers, queue: nil)
  }

  package init(
    _ configuration: MQTTConfiguration, _ filters: [String], _ qos: QoS, _ handlers: Handlers,
    queue: BatchQueue?
  ) throws(FleetError) {
    self.queue = queue
    let waiting = Locked(Set(filters))
    let all = Set(filters)
    let sessionHandlers = MQTTSession.Handlers(
      connectionChanged: { state in
        switch state {
        case .connected:
          waiting.withLock { $0 = all }
          handlers.connection(.connected)
        case .disconnected(let reason, _): handlers.connection(.disconnected(reason))
        }
      },
      received: { messages in
        handlers.received(FleetBatch(messages: messages, receivedAt: .now))
      },
      subscriptionAnswered: { filter, reason in
        if reason.isError {
          handlers.connection(.refused(filter: filter, reason: reason.description))
          return
        }
        let isLast = waiting.withLock { waiting in
          waiting.remove(filter) != nil && waiting.isEmpty
        }
        if isLast { handlers.connection(.subscribed) }
      })
    do throws(MQTTError) {
      session = try MQTTSession(
        configuration: configuration, subscriptions: filters.map { MQTTSubscription($0, qos: qos) },
        handlers: sessionHandlers)
    } catch { throw Self.usage(error) }
  }

  /// Starts to connect; returns at once.
  public func start() throws(FleetError) {
    do throws(MQTTError) { try session.start() } catch { throw Self.usage(error) }
  }

  /// Leaves the broker and waits until the last batch is dealt with.
  /// - Parameter drain: seconds after which it ends regardless.
  /// - Returns: whether everything was acknowledged.
  @discardableResult
  public func stop(drain: Double = 2) -> Bool { session.stop(drain: drain) }

  /// Batches up to this number are stored.
  func settle(through number: UInt64) { session.settle(through: number) }

  private static func usage(_ error: MQTTError) -> FleetError {
    FleetError(operation: error.operation, object: error.object, cause: error.cause, exit: .usage)
  }
}

extension Moment {
  /// Now, by this machine's clocks.
  package static var now: Moment {
    Moment(
      time: UTCTime(nanoseconds: SystemClock.realtime),
      timestamp: Timestamp(nanoseconds: SystemClock.boottime))
  }
}

extension FleetError {
  /// Why the broker cannot be used, for a command that ends on it.
  package init(_ reason: MQTTDisconnection) {
    self.init(
      operation: "reach", object: "the broker",
      cause: reason.description + (reason.remedy.map { "; \($0)" } ?? ""), exit: .unavailable)
  }
}
