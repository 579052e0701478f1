internal import AMQP
internal import Fleet
internal import FleetCommand
internal import MQTT
internal import Platform

/// A source of messages to record.
protocol RecordSource: Sendable {
  /// The received batches.
  var batches: BatchQueue? { get }

  /// Starts to connect, and returns immediately.
  func start() throws(FleetError)

  /// Disconnects in order; messages in transit are stored and acknowledged before.
  /// - Parameter drain: the time limit in seconds.
  /// - Returns: true if everything was acknowledged.
  func leaveBlocking(drain: Double) -> Bool
}

/// A source by MQTT, with its own session or a shared subscription.
extension FleetSubscriber: RecordSource {
  var batches: BatchQueue? { queue }
}

/// A source from a queue of a cluster, which can have other consumers.
final class QueueSource: RecordSource {
  let batches: BatchQueue?
  private let consumer: AMQPConsumer

  private struct WeakConsumer {
    weak var consumer: AMQPConsumer?
  }

  /// Creates the source.
  ///
  /// - Throws: `FleetError` for invalid settings.
  init(_ configuration: AMQPConfiguration, _ waiter: CommandWaiter) throws(FleetError) {
    let owner = Locked(WeakConsumer())
    let queue = try BatchQueue { number in owner.withLock { $0.consumer }?.settle(through: number) }
    // The queue is bounded by the prefetch of the broker.
    let handlers = AMQPConsumer.Handlers(
      received: { queue.push($0, at: .now) },
      connection: { state in
        switch state {
        case .connected: waiter.observeConnection()
        case .disconnected(let reason):
          // The cluster redelivers these messages on each connection, so they must not accumulate while the
          // store is unavailable.
          queue.dropWaiting()
          waiter.observeLoss("\(reason)", FleetError(reason))
        }
      })
    do throws(AMQPError) { consumer = try AMQPConsumer(configuration, handlers: handlers) } catch {
      throw FleetError(error)
    }
    batches = queue
    owner.withLock { $0.consumer = consumer }
  }

  func start() throws(FleetError) {
    do throws(AMQPError) { try consumer.start() } catch { throw FleetError(error) }
  }

  func leaveBlocking(drain: Double) -> Bool {
    let isClean = consumer.stop(drain: drain)
    batches?.finish()
    return isClean
  }
}
