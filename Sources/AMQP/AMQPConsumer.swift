internal import Glibc
public import MQTT
internal import Platform

/// What a consumer tells about its connection.
public enum AMQPConsumerState: Hashable, Sendable {
  /// The queue is there and bound, and its messages come.
  case connected
  /// There is no connection to any node; the consumer goes on trying.
  case disconnected(AMQPDisconnection)
}

/// One of the readers that split a quorum queue among them, on a thread of its own, until it is stopped.
///
/// Messages are acknowledged when the batch that they came with, and each before it, is settled. Until then the broker keeps
/// them; when the connection ends it gives them to another reader, or to this one again. The order of a queue holds for one
/// reader only, and not across such an end.
public final class AMQPConsumer: Sendable {
  /// What is called, always on the consumer's thread.
  public struct Handlers: Sendable {
    /// Takes a batch, which is never empty; returns the number under which it is settled, larger than the one before.
    public var received: @Sendable ([MQTTMessage]) -> UInt64
    public var connection: @Sendable (AMQPConsumerState) -> Void

    public init(
      received: @escaping @Sendable ([MQTTMessage]) -> UInt64,
      connection: @escaping @Sendable (AMQPConsumerState) -> Void = { _ in }
    ) {
      self.received = received
      self.connection = connection
    }
  }

  private struct Wishes {
    var settledThrough: UInt64 = 0
    /// When leaving ends at the latest (`SystemClock.monotonic`, ns); nil while nobody asked to leave.
    var deadline: Int64?
    var wasClean = false
  }

  private let configuration: AMQPConfiguration
  private let handlers: Handlers
  private let wishes = Locked(Wishes())
  private let service: ServiceThread

  /// Messages of one batch at most: the recorder puts batches together.
  private static let portion = 500
  /// Seconds between two looks at the signs of life.
  private static let pulse = 1.0

  /// - Throws: `AMQPError` when the settings cannot work.
  public init(_ configuration: AMQPConfiguration, handlers: Handlers) throws(AMQPError) {
    try configuration.validate()
    self.configuration = configuration
    self.handlers = handlers
    do throws(SystemError) { service = try ServiceThread() } catch { throw AMQPError(error) }
  }

  /// Starts to connect; returns at once.
  public func start() throws(AMQPError) {
    do throws(SystemError) { try service.start(name: "amqp") { [self] heartbeat in run(heartbeat) } } catch {
      throw AMQPError(error)
    }
  }

  /// Batches up to this number are stored. From any thread.
  public func settle(through number: UInt64) {
    wishes.withLock { $0.settledThrough = max($0.settledThrough, number) }
    service.wake.signal()
  }

  /// Takes no more, waits until what came is settled and acknowledged, and leaves. Call it once.
  /// - Parameter drain: seconds after which it leaves regardless.
  /// - Returns: whether everything was acknowledged.
  @discardableResult
  public func stop(drain: Double) -> Bool {
    wishes.withLock { $0.deadline = SystemClock.monotonic + Int64(max(0, min(drain, 1e8)) * 1e9) }
    // A lookup of a name, or an answer that does not come, holds the thread for as long as that may take.
    service.stop(patience: drain + configuration.answerTimeout)
    return wishes.withLock(\.wasClean)
  }

  /// Ends a queue with what is in it, from the calling thread.
  /// - Returns: whether there was such a queue.
  public static func deleteQueue(_ configuration: AMQPConfiguration) throws(AMQPDisconnection) -> Bool {
    var failure: AMQPDisconnection?
    for node in configuration.address.nodes {
      do throws(AMQPDisconnection) {
        let connection = try AMQPConnection.opened(to: node, configuration, makesQueue: false)
        let isThere = try connection.hasQueue()
        if isThere { try connection.deleteQueue() }
        connection.close()
        return isThere
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
    return false
  }

  private func run(_ heartbeat: Heartbeat) {
    var backoff = Backoff(floor: 0.1, base: 0.5, limit: configuration.backoffLimit)
    var place = 0
    while !isLeaving {
      var failure: AMQPDisconnection?
      for _ in configuration.address.nodes where !isLeaving {
        let node = configuration.address.nodes[place]
        do throws(AMQPDisconnection) {
          heartbeat.beat()
          heartbeat.expectPause(seconds: 60 + configuration.connectTimeout + configuration.answerTimeout)
          let connection = try AMQPConnection.opened(to: node, configuration)
          try serve(connection, heartbeat) {
            backoff.reset()
            failure = nil
          }
          return
        } catch {
          // What a node says of the first attempt tells most: the others' answers are the same or follow from it.
          failure = failure ?? error
          place = (place + 1) % configuration.address.nodes.count
          guard error.phase == .established else { continue }
          break
        }
      }
      guard let failure, !isLeaving else { break }
      handlers.connection(.disconnected(failure))
      _ = service.wake.wait(seconds: failure.phase == .established ? 0.1 : backoff.next())
    }
  }

  private var isLeaving: Bool { wishes.withLock { $0.deadline != nil } }

  /// Takes messages and acknowledges them until it is to leave, and then until all is acknowledged.
  /// - Parameter begun: called when the queue may be read.
  private func serve(
    _ first: consuming AMQPConnection, _ heartbeat: Heartbeat, begun: () -> Void
  ) throws(AMQPDisconnection) {
    var connection = first
    var window = PrefetchWindow(
      most: configuration.mostPrefetch, bound: configuration.mostUnacknowledged)
    var ledger = DeliveryLedger()
    var isCancelled = false
    try connection.consume(prefetch: window.size)
    begun()
    handlers.connection(.connected)
    while true {
      heartbeat.beat()
      let (settled, deadline) = wishes.withLock { ($0.settledThrough, $0.deadline) }
      ledger.settle(through: settled)
      if let due = ledger.due() {
        try connection.acknowledge(through: due.tag)
        if deadline == nil,
          window.acknowledged(due.count, bytes: due.bytes, rest: ledger.unacknowledged)
        {
          do throws(AMQPDisconnection) { try connection.consume(prefetch: window.size) } catch {
            // The connection stood: whoever has its messages is told that it is gone.
            throw AMQPDisconnection(node: error.node, phase: .established, cause: error.cause)
          }
        }
      }
      if deadline != nil, !isCancelled {
        try connection.cancel()
        isCancelled = true
      }
      var messages: [MQTTMessage] = []
      if let tag = try connection.read(&messages, most: Self.portion) {
        ledger.held(
          handlers.received(messages), tag: tag, count: messages.count,
          bytes: messages.reduce(0) { $0 + $1.payload.count })
        if messages.count == Self.portion { continue }
      }
      if let deadline {
        let isClean = isCancelled && ledger.unacknowledged == 0
        if isClean || SystemClock.monotonic >= deadline {
          connection.close()
          wishes.withLock { $0.wasClean = isClean }
          return
        }
      }
      if waitUntilReadable([connection.descriptor, service.wake.descriptor], seconds: Self.pulse) != nil {
        service.wake.drain()
      }
    }
  }
}

extension AMQPError {
  init(_ error: SystemError) {
    self.init(operation: error.operation, object: error.object, cause: SystemError.message(for: error.code))
  }
}
