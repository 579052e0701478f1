internal import Platform

/// An asynchronous sequence of one consumer's samples: every sample, in order.
///
/// It queues `capacity` samples while the consumer is busy. If more arrive, the oldest are dropped and
/// counted in `overflowCount`, so the thread of a sensor never waits for a task. The locations of a deferral
/// count as one sample, so that none of them is dropped alone. If a `LiveDevice` replays a recording at the
/// consumers' speed (`speed: nil`), the replay waits while `capacity` samples are queued, and no sample is
/// lost. The end of the loop, the cancellation of its task and the release of the sequence remove the consumer.
/// At the end of the source, queued samples are still delivered. Use one loop per sequence: two loops would
/// share the samples.
public struct AsyncSamples<Sample: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Sample
  public typealias Failure = Never

  /// Limit of queued samples.
  public let capacity: Int
  private let stream: AsyncStream<[Sample]>
  private let source: Source

  /// - Parameter backlog: records that the consumer falls behind, so that the source can wait for it. If nil,
  ///   the source does not wait, and a full queue drops its oldest samples.
  package init(
    capacity: Int, backlog: Backlog? = nil, _ make: (_ outlet: SampleOutlet<Sample>) -> Subscription
  ) {
    let capacity = Swift.max(1, capacity)
    let counts = SampleCounts(capacity: capacity, backlog: backlog)
    // A source that waits delivers whole blocks before it does, so its queue has no limit.
    let (stream, continuation) = AsyncStream.makeStream(
      of: [Sample].self, bufferingPolicy: backlog == nil ? .bufferingNewest(capacity) : .unbounded)
    let finish: @Sendable () -> Void = { continuation.finish() }
    let subscription = make(
      SampleOutlet(
        pushBatch: { batch in
          counts.add(batch.count)
          switch continuation.yield(batch) {
          case .enqueued: break
          case .dropped(let oldest): counts.drop(oldest.count)
          case .terminated: counts.end()
          @unknown default: break
          }
        }, finish: finish))
    // The stream's storage retains this closure, so the closure must not retain `source`, which owns the
    // stream. The closure captures only subscription and counts.
    continuation.onTermination = { _ in
      subscription.stop()
      counts.end()
    }
    self.capacity = capacity
    self.stream = stream
    source = Source(subscription: subscription, counts: counts, finish: finish)
  }

  /// Samples dropped since the start.
  public var overflowCount: Int { source.counts.dropped }

  /// Effective seconds between samples; nil while the hardware's rate is unknown, for elements without a rate, and after the end.
  public var effectiveInterval: Double? { source.subscription.effectiveInterval() }

  /// Ends the updates. Queued samples are still delivered.
  public func stop() { source.finish() }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(iterator: stream.makeAsyncIterator(), source: source)
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var iterator: AsyncStream<[Sample]>.AsyncIterator
    // Retained so that the updates do not end while a loop uses the iterator.
    fileprivate let source: Source

    public mutating func next() async -> Sample? {
      if let sample = source.batch.next() { return sample }
      return await iterator.next().flatMap(source.batch.first)
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Sample? {
      if let sample = source.batch.next() { return sample }
      return await iterator.next(isolation: actor).flatMap(source.batch.first)
    }
  }

  /// Ends the updates when the last copy of the sequence and its iterators is released.
  fileprivate final class Source: Sendable {
    let subscription: Subscription
    let counts: SampleCounts
    /// The started batch, which a later loop over the sequence continues.
    let batch: StartedBatch<Sample>
    let finish: @Sendable () -> Void

    init(subscription: Subscription, counts: SampleCounts, finish: @escaping @Sendable () -> Void) {
      (self.subscription, self.counts, self.finish) = (subscription, counts, finish)
      batch = StartedBatch(counts)
    }

    deinit { finish() }
  }
}

/// The rest of the batch whose samples are being delivered to a consumer.
final class StartedBatch<Sample: Sendable>: Sendable {
  private let rest = Locked(ArraySlice<Sample>())
  private let counts: SampleCounts

  init(_ counts: SampleCounts) { self.counts = counts }

  /// Removes and returns the next sample of the batch; nil at its end.
  func next() -> Sample? {
    let sample = rest.withLock { $0.popFirst() }
    if sample != nil { counts.remove() }
    return sample
  }

  /// Starts a batch and returns its first sample.
  func first(of batch: [Sample]) -> Sample? {
    if batch.count > 1 { rest.withLock { $0 += batch.dropFirst() } }
    counts.remove()
    return batch.first
  }
}

/// Counts of a consumer's queued and dropped samples.
final class SampleCounts: Sendable {
  private struct State {
    var waiting = 0
    var dropped = 0
    var hasEnded = false
  }

  private let state = Locked(State())
  private let capacity: Int
  private let backlog: Backlog?

  init(capacity: Int, backlog: Backlog?) {
    (self.capacity, self.backlog) = (capacity, backlog)
  }

  var dropped: Int { state.withLock { $0.dropped } }

  func add(_ count: Int) { change { $0.waiting += count } }

  func remove() { change { $0.waiting -= 1 } }

  func drop(_ count: Int) {
    change {
      $0.waiting -= count
      $0.dropped += count
    }
  }

  func end() { change { $0.hasEnded = true } }

  private func change(_ body: (inout State) -> Void) {
    guard let backlog else { return state.withLock { body(&$0) } }
    state.withLock { state in
      body(&state)
      backlog.observe(ObjectIdentifier(self), isBehind: !state.hasEnded && state.waiting >= capacity)
    }
  }
}

/// The consumers that have fallen behind. A `LiveDevice` that replays a recording at the consumers' speed
/// (`speed: nil`) waits for them.
package final class Backlog: Sendable {
  private struct State {
    var behind: Set<ObjectIdentifier> = []
    var isOpen = false
  }

  private let state = Monitor(State())

  package init() {}

  fileprivate func observe(_ consumer: ObjectIdentifier, isBehind: Bool) {
    guard state.withLock({ $0.behind.contains(consumer) != isBehind }) else { return }
    state.update { state in
      if isBehind { state.behind.insert(consumer) } else { state.behind.remove(consumer) }
    }
  }

  /// Returns when each consumer has fewer queued samples than its capacity, or after `open`.
  package func wait() {
    state.wait(until: nil) { $0.behind.isEmpty || $0.isOpen ? () : nil }
  }

  /// Ends all current and later calls of `wait` immediately.
  package func open() { state.update { $0.isOpen = true } }
}
