package import AMQP
package import Fleet
internal import MQTT
internal import Platform

/// A source of messages to record.
protocol RecordSource: Sendable {
  /// The queue of received batches.
  var batches: BatchQueue? { get }

  /// Starts connecting, and returns immediately.
  func start() throws(FleetError)

  /// Disconnects after the received messages were stored and acknowledged.
  /// - Parameter drain: the maximum time in s for storing and acknowledging.
  /// - Returns: true if all received messages were acknowledged.
  func leaveBlocking(drain: Double) -> Bool
}

/// Receives messages over MQTT, with a session of its own or a shared subscription.
extension FleetSubscriber: RecordSource {
  var batches: BatchQueue? { queue }
}

/// Receives messages from a queue of a RabbitMQ cluster, which other consumers can use, too.
final class QueueSource: RecordSource {
  let batches: BatchQueue?
  private let consumer: AMQPConsumer

  private struct WeakConsumer {
    weak var consumer: AMQPConsumer?
  }

  /// Creates the source.
  ///
  /// - Parameter connection: called with changes of the connection, on the consumer's thread.
  /// - Throws: `FleetError` for invalid settings.
  init(
    _ configuration: AMQPConfiguration, connection: @escaping @Sendable (AMQPConsumerState) -> Void
  ) throws(FleetError) {
    let owner = Locked(WeakConsumer())
    let queue = try BatchQueue { number in owner.withLock { $0.consumer }?.settle(through: number) }
    // The broker's prefetch limit bounds the queue.
    let handlers = AMQPConsumer.Handlers(
      received: { queue.push($0, at: .now) },
      connection: { state in
        // The cluster delivers unacknowledged messages again on the next connection. They are dropped here,
        // so that they do not accumulate while the store is unavailable.
        if case .disconnected = state { queue.dropWaiting() }
        connection(state)
      })
    do throws(OperationError) { consumer = try AMQPConsumer(configuration, handlers: handlers) } catch {
      throw FleetError(error)
    }
    batches = queue
    owner.withLock { $0.consumer = consumer }
  }

  func start() throws(FleetError) {
    do throws(OperationError) { try consumer.start() } catch { throw FleetError(error) }
  }

  func leaveBlocking(drain: Double) -> Bool {
    let isClean = consumer.stop(drain: drain)
    batches?.finish()
    return isClean
  }
}

extension FleetError {
  /// Creates the error for an unavailable queue.
  package init(_ reason: AMQPDisconnection) {
    self.init(
      operation: "reach", object: "the queue",
      cause: reason.description + (reason.remedy.map { "; \($0)" } ?? ""), kind: .unavailable)
  }
}
