package import Platform

/// A queue of one consumer's samples: every sample, in order.
///
/// The stream queues `capacity` samples while the consumer is busy. If more arrive, the oldest are dropped
/// and counted in `overflowCount`. The locations of a deferral count as one sample. If a `LiveDevice` replays
/// a recording at the consumers' speed (`speed: nil`), the replay waits for handlers instead. Stopping or
/// releasing the stream removes the consumer; a sensor without consumers sleeps. Tasks use `AsyncSamples`.
public final class SampleStream<Sample: Sendable>: Sendable {
  /// Limit of queued samples.
  public let capacity: Int
  private let queue: BoundedQueue<[Sample]>
  private let counts: SampleCounts
  private let batch: StartedBatch<Sample>
  private let subscription: Subscription

  /// - Parameter backlog: records that the consumer falls behind, so that the source can wait for it. If nil,
  ///   the source does not wait, and a full queue drops its oldest samples.
  package init(
    capacity: Int, backlog: Backlog? = nil, _ make: (_ outlet: SampleOutlet<Sample>) -> Subscription
  ) {
    let capacity = max(1, capacity)
    self.capacity = capacity
    // A source that waits delivers whole blocks before it does, so its queue has no limit.
    let queue = BoundedQueue<[Sample]>(capacity: backlog == nil ? capacity : .max)
    self.queue = queue
    let counts = SampleCounts(capacity: capacity, backlog: backlog)
    self.counts = counts
    batch = StartedBatch(counts)
    // The closures capture the queue and not the stream. If they released the stream while samples are
    // pushed, the removal of its consumer would take the lock that is already held.
    subscription = make(
      SampleOutlet(
        pushBatch: { batch in
          counts.add(batch.count)
          if let oldest = queue.push(batch) { counts.drop(oldest.count) }
        }, finish: { queue.close() }))
  }

  deinit {
    queue.close()
    counts.end()
  }

  /// Calls a handler for each sample on a thread of its own, until the stream is stopped or released.
  /// - Throws: `SystemError` if no thread can be created.
  package func handing(to handler: @escaping @Sendable (Sample) -> Void) throws(SystemError) -> SampleStream {
    let thread = try DedicatedThread.start(name: "update handler") { [queue, counts] in
      while case .element(let batch) = queue.pop(until: nil) {
        for sample in batch {
          counts.remove()
          handler(sample)
        }
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
    if let sample = batch.next() { return .element(sample) }
    let deadline = seconds.map { MonotonicTime.after(max(0, min($0, 86_400))) }
    switch queue.pop(until: deadline) {
    case .element(let new): return batch.first(of: new).map { .element($0) } ?? .timedOut
    case .timedOut: return .timedOut
    case .closed: return .closed
    }
  }

  /// Samples dropped since the start.
  public var overflowCount: Int { counts.dropped }

  /// Effective seconds between samples; nil while the hardware's rate is unknown, and after the end.
  public var effectiveInterval: Double? { subscription.effectiveInterval() }

  /// Ends the updates. Queued samples are still delivered.
  public func stop() {
    queue.close()
    subscription.stop()
    counts.end()
  }
}

/// The functions by which a source pushes samples into one consumer's queue and ends it.
package struct SampleOutlet<Sample: Sendable>: Sendable {
  /// A batch counts as one sample in the consumer's queue. It is not empty.
  private let pushBatch: @Sendable ([Sample]) -> Void
  /// Ends the updates; queued samples are still delivered. Never call it with the lock held under which
  /// `push` is called, because ending the updates removes the consumer, which takes that lock.
  package let finish: @Sendable () -> Void

  init(pushBatch: @escaping @Sendable ([Sample]) -> Void, finish: @escaping @Sendable () -> Void) {
    (self.pushBatch, self.finish) = (pushBatch, finish)
  }

  package func push(_ sample: Sample) { pushBatch([sample]) }

  package func push(batch: [Sample]) { if !batch.isEmpty { pushBatch(batch) } }
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
