internal import MQTT
internal import Platform

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
    broker: BrokerOptions, filters: [String], session: SubscriberSession,
    connection: @escaping @Sendable (FleetConnection) -> Void = { _ in }
  ) throws(FleetError) {
    var configuration = try broker.configuration()
    session.apply(to: &configuration)
    let owner = Locked(WeakSubscriber())
    let queue = try BatchQueue { number in owner.withLock { $0.subscriber }?.settle(through: number) }
    let sequencer = session.isOnceInOrder ? Locked(MessageSequencer()) : nil
    let capacity = 2 * session.bufferedMessages + 2 * Int(session.receiveMaximum)
    let wasConnected = Locked(false)
    let handlers = Handlers(
      received: { batch in
        guard queue.count <= capacity else { return .notKept("the consumer is too far behind") }
        let messages = sequencer.map { $0.withLock { $0.take(batch.messages) } } ?? batch.messages
        // Also a batch of nothing but repetitions waits for what it repeats.
        return .held(queue.push(messages, at: batch.receivedAt))
      },
      connection: { state in
        connection(state)
        switch state {
        case .connected: wasConnected.withLock { $0 = true }
        case .subscribed: break
        case .refused(let filter, let reason): queue.finish(.refused(filter: filter, reason: reason))
        case .disconnected(let reason):
          let isFirst = wasConnected.withLock { !$0 }
          if isFirst, reason.cause != .stopped { queue.finish(FleetError(reason)) }
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

extension FleetError {
  package static func refused(filter: String, reason: String) -> FleetError {
    FleetError(
      operation: "subscribe to", object: "\"\(filter)\"",
      cause: "\(reason); check the broker's access list for this user", exit: .unavailable)
  }
}
