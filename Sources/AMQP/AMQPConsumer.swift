internal import Glibc
package import MQTT
package import Platform

/// A change of a consumer's connection.
package enum AMQPConsumerState: Hashable, Sendable {
  /// The queue exists with its bindings, and messages are delivered.
  case connected
  /// No node is connected; the consumer retries.
  case disconnected(AMQPDisconnection)
}

/// A consumer of a quorum queue that shares its messages with other consumers. It runs on its own thread
/// until it is stopped.
///
/// Messages are acknowledged when their batch and all earlier ones are settled. Until then the broker stores
/// them. If the connection ends, the broker delivers them to another consumer, or to this one again. The
/// order of a queue is only retained for a single consumer, and not across a disconnection.
package final class AMQPConsumer: Sendable {
  /// The callbacks, always on the consumer's thread.
  package struct Handlers: Sendable {
    /// Receives a batch, never empty. Returns the number under which it will be settled, larger than the
    /// previous one.
    package var received: @Sendable ([MQTTMessage]) -> UInt64
    package var connection: @Sendable (AMQPConsumerState) -> Void

    package init(
      received: @escaping @Sendable ([MQTTMessage]) -> UInt64,
      connection: @escaping @Sendable (AMQPConsumerState) -> Void = { _ in }
    ) {
      self.received = received
      self.connection = connection
    }
  }

  private struct SharedState {
    var settledThrough: UInt64 = 0
    /// The deadline for leaving; nil until `stop` is called.
    var deadline: MonotonicTime?
    var wasClean = false
  }

  private let configuration: AMQPConfiguration
  private let handlers: Handlers
  private let wishes = Locked(SharedState())
  private let service: ServiceThread

  /// The maximum number of messages in a batch; the recorder combines batches.
  private static let portion = 500
  /// The interval in seconds between two checks of the heartbeats.
  private static let pulse = 1.0

  /// Creates a consumer.
  ///
  /// - Throws: `OperationError` for invalid settings.
  package init(_ configuration: AMQPConfiguration, handlers: Handlers) throws(OperationError) {
    try configuration.validate()
    self.configuration = configuration
    self.handlers = handlers
    do throws(SystemError) { service = try ServiceThread() } catch { throw OperationError(error) }
  }

  /// Starts to connect, and returns immediately.
  package func start() throws(OperationError) {
    do throws(SystemError) { try service.start(name: "amqp") { [self] heartbeat in run(heartbeat) } } catch {
      throw OperationError(error)
    }
  }

  /// Reports that batches up to this number are stored. Can be called from any thread.
  package func settle(through number: UInt64) {
    wishes.withLock { $0.settledThrough = max($0.settledThrough, number) }
    service.wake.signal()
  }

  /// Stops consuming, waits until all received messages are settled and acknowledged, and disconnects. Call
  /// it once.
  /// - Parameter drain: the time limit in seconds.
  /// - Returns: true if everything was acknowledged.
  @discardableResult
  package func stop(drain: Double) -> Bool {
    wishes.withLock { $0.deadline = .after(drain) }
    // A DNS lookup or a missing answer can block the thread this long.
    service.stop(timeout: drain + configuration.answerTimeout)
    return wishes.withLock(\.wasClean)
  }

  /// Deletes a queue with its messages; blocks the calling thread.
  /// - Returns: true if the queue existed.
  package static func deleteQueue(_ configuration: AMQPConfiguration) throws(AMQPDisconnection) -> Bool {
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
          // The failure at the first node is the most informative. Failures at the other nodes are identical
          // or result from it.
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

  /// Reads and acknowledges messages until `stop` is called, and then until everything is acknowledged.
  /// - Parameter begun: called when the queue can be read.
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
            // The connection was established before, so the failure is reported as the loss of an established
            // connection.
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
        if isClean || deadline.hasPassed {
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

extension OperationError {
  init(_ error: SystemError) {
    self.init(
      "AMQP", operation: error.operation, object: error.object, cause: SystemError.message(for: error.code))
  }
}
