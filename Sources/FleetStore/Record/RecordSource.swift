internal import AMQP
internal import Fleet
internal import FleetConsole
internal import MQTT
internal import Platform

/// Where a recording takes its messages from. From its queue on, all is the same for all of them.
protocol RecordSource: Sendable {
  /// What came and waits to be stored.
  var batches: BatchQueue? { get }

  /// Starts to connect; returns at once.
  func start() throws(FleetError)

  /// Leaves in order; what is under way is stored and acknowledged before.
  /// - Parameter drain: seconds after which it leaves regardless.
  /// - Returns: whether everything was acknowledged.
  func leaveBlocking(drain: Double) -> Bool
}

/// By MQTT, with a session of its own or a share of a group's.
extension FleetSubscriber: RecordSource {
  var batches: BatchQueue? { queue }
}

/// From a queue of a cluster, which others may read too.
final class QueueSource: RecordSource {
  let batches: BatchQueue?
  private let consumer: AMQPConsumer

  private struct WeakConsumer {
    weak var consumer: AMQPConsumer?
  }

  /// - Throws: `FleetError` when the settings cannot work.
  init(_ configuration: AMQPConfiguration, _ waiter: CommandWaiter) throws(FleetError) {
    let owner = Locked(WeakConsumer())
    let queue = try BatchQueue { number in owner.withLock { $0.consumer }?.settle(through: number) }
    // What waits here is bounded by what the broker sends ahead.
    let handlers = AMQPConsumer.Handlers(
      received: { queue.push($0, at: .now) },
      connection: { state in
        switch state {
        case .connected: waiter.observeConnection()
        case .disconnected(let reason):
          // The cluster sends it again, with each connection: while the store is away, that is not to add up.
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
