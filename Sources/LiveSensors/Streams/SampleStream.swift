package import Platform

/// A queue of one consumer's samples: every sample, in order.
///
/// The stream queues `capacity` samples while the consumer is busy. If more arrive, the oldest are dropped
/// and counted in `overflowCount`. If a `LiveDevice` replays a recording at the consumers' speed (`speed:
/// nil`), the replay waits for handlers instead. Stopping or releasing the stream removes the consumer; a
/// sensor without consumers sleeps. Tasks use `AsyncSamples`.
public final class SampleStream<Sample: Sendable>: Sendable {
  /// Limit of queued samples.
  public let capacity: Int
  private let queue: BoundedQueue<Sample>
  /// Counts of the queued and dropped samples for the backlog; nil without a backlog.
  private let counts: SampleCounts?
  private let subscription: Subscription

  /// - Parameter backlog: records that the consumer falls behind, so that the source can wait for it. If nil,
  ///   the source does not wait, and a full queue drops its oldest samples.
  package init(
    capacity: Int, backlog: Backlog? = nil, _ make: (_ outlet: SampleOutlet<Sample>) -> Subscription
  ) {
    let capacity = max(1, capacity)
    self.capacity = capacity
    let queue = BoundedQueue<Sample>(capacity: capacity)
    self.queue = queue
    let counts = backlog.map { SampleCounts(capacity: capacity, backlog: $0) }
    self.counts = counts
    // The closures capture the queue and not the stream. If they released the stream while samples are
    // pushed, the removal of its consumer would take the lock that is already held.
    subscription = make(
      SampleOutlet(
        push: { sample in
          guard let counts else { return queue.push(sample) }
          let dropped = queue.overflowCount
          counts.add()
          queue.push(sample)
          if queue.overflowCount > dropped { counts.drop() }
        }, finish: { queue.close() }))
  }

  deinit {
    queue.close()
    counts?.end()
  }

  /// Calls a handler for each sample on a thread of its own, until the stream is stopped or released.
  /// - Throws: `SystemError` if no thread can be created.
  package func handing(to handler: @escaping @Sendable (Sample) -> Void) throws(SystemError) -> SampleStream {
    let thread = try DedicatedThread.start(name: "update handler") { [queue, counts] in
      while case .element(let sample) = queue.pop(until: nil) {
        counts?.remove()
        handler(sample)
      }
    }
    // The thread is not joined: the handler may call `stop`, and it cannot wait for the end of its own
    // thread.
    thread.detach()
    return self
  }

  /// Returns the next sample; nil at the end of the stream and after the time limit. It blocks, so never call it from an actor
  /// or the cooperative pool.
  /// - Parameter seconds: the time limit; nil waits without limit.
  public func next(within seconds: Double? = nil) -> Sample? {
    if case .element(let sample) = outcome(within: seconds) { return sample }
    return nil
  }

  /// Returns the next sample, or the reason for its absence.
  func outcome(within seconds: Double?) -> BoundedQueue<Sample>.Outcome {
    let deadline = seconds.map { MonotonicTime.after(max(0, min($0, 86_400))) }
    let outcome = queue.pop(until: deadline)
    if case .element = outcome { counts?.remove() }
    return outcome
  }

  /// Samples dropped since the start.
  public var overflowCount: Int { queue.overflowCount }

  /// Effective seconds between samples; nil while the hardware's rate is unknown, and after the end.
  public var effectiveInterval: Double? { subscription.effectiveInterval() }

  /// Ends the updates. Queued samples are still delivered.
  public func stop() {
    queue.close()
    subscription.stop()
    counts?.end()
  }
}

/// The functions by which a source pushes samples into one consumer's queue and ends it.
package struct SampleOutlet<Sample: Sendable>: Sendable {
  package let push: @Sendable (Sample) -> Void
  /// Ends the updates; queued samples are still delivered. Never call it with the lock held under which
  /// `push` is called, because ending the updates removes the consumer, which takes that lock.
  package let finish: @Sendable () -> Void
}

/// The registration of one consumer, removed when it is stopped or released.
package final class Subscription: Sendable {
  /// Effective seconds between samples; nil while the hardware's rate is unknown, and after the end.
  package let effectiveInterval: @Sendable () -> Double?
  /// Idempotent.
  package let stop: @Sendable () -> Void

  package init(
    effectiveInterval: @escaping @Sendable () -> Double? = { nil }, stop: @escaping @Sendable () -> Void
  ) {
    (self.effectiveInterval, self.stop) = (effectiveInterval, stop)
  }

  deinit { stop() }
}
