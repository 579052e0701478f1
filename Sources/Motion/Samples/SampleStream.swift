internal import Platform

/// One consumer's samples, on their way from the sensor's thread to the consumer's: every one, in order.
///
/// It holds `capacity` samples while the consumer is busy; beyond that the oldest make room and are counted in
/// `overflowCount`. Ending it, or letting go of it, counts the consumer out, and the sensor sleeps when it was the last. For
/// tasks there is `AsyncSamples`.
public final class SampleStream<Sample: Sendable>: Sendable {
  /// How many samples are held at most.
  public let capacity: Int
  private let queue: BoundedQueue<Sample>
  private let subscription: Subscription

  init(capacity: Int, _ make: (_ outlet: @escaping @Sendable (Sample) -> Void) -> Subscription) {
    self.capacity = max(1, capacity)
    let queue = BoundedQueue<Sample>(capacity: max(1, capacity))
    self.queue = queue
    // The queue and not the stream: a stream that is let go of counts its consumer out, which takes the very lock that is
    // held while samples are offered.
    subscription = make { queue.push($0) }
  }

  deinit { queue.close() }

  /// Hands the samples to a handler, one after the other on a thread of its own, until the stream is ended or let go of.
  /// - Throws: `SystemError` when the kernel has no room for another thread.
  func handing(to handler: @escaping @Sendable (Sample) -> Void) throws(SystemError) -> SampleStream {
    let thread = try DedicatedThread.start(name: "motion handler") { [queue] in
      while case .element(let sample) = queue.pop(until: nil) { handler(sample) }
    }
    // `stop` may be called by the handler, which cannot wait for its own thread.
    thread.detach()
    return self
  }

  /// The next sample; waits for one, so never call it from an actor or the cooperative pool. Nil when the stream has ended
  /// or nothing came within the time.
  /// - Parameter seconds: the time limit; nil waits for as long as it takes.
  public func next(within seconds: Double? = nil) -> Sample? {
    let deadline = seconds.map { SystemClock.monotonic &+ Int64(max(0, min($0, 86_400)) * 1e9) }
    if case .element(let sample) = queue.pop(until: deadline) { return sample }
    return nil
  }

  /// Samples that made room for newer ones since the start.
  public var overflowCount: Int { queue.overflowCount }

  /// Seconds between samples as they really come; nil while the hardware has not said, and after the end.
  public var effectiveInterval: Double? { subscription.effectiveInterval() }

  /// Ends the updates. Samples that wait are still handed out.
  public func stop() {
    queue.close()
    subscription.stop()
  }
}

/// One consumer's samples as an asynchronous sequence: every one, in order.
///
/// It holds `capacity` samples while the consumer is busy; beyond that the oldest make room and are counted in
/// `overflowCount`. Ending the loop, cancelling its task or letting go of the sequence counts the consumer out. One loop
/// only: the samples of two would be shared out between them.
public struct AsyncSamples<Sample: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Sample
  public typealias Failure = Never

  /// How many samples are held at most.
  public let capacity: Int
  private let stream: AsyncStream<Sample>
  private let source: Source

  init(capacity: Int, _ make: (_ outlet: @escaping @Sendable (Sample) -> Void) -> Subscription) {
    let capacity = Swift.max(1, capacity)
    let dropped = Locked(0)
    let (stream, continuation) = AsyncStream.makeStream(
      of: Sample.self, bufferingPolicy: .bufferingNewest(capacity))
    let subscription = make { sample in
      if case .dropped = continuation.yield(sample) { dropped.withLock { $0 += 1 } }
    }
    // The stream's storage must not hold what holds the stream: the subscription is let go of by either end.
    continuation.onTermination = { _ in subscription.stop() }
    self.capacity = capacity
    self.stream = stream
    source = Source(subscription: subscription, dropped: dropped) { continuation.finish() }
  }

  /// Samples that made room for newer ones since the start.
  public var overflowCount: Int { source.dropped.withLock { $0 } }

  /// Seconds between samples as they really come; nil while the hardware has not said, and after the end.
  public var effectiveInterval: Double? { source.subscription.effectiveInterval() }

  /// Ends the updates. Samples that wait are still handed out.
  public func stop() { source.finish() }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(iterator: stream.makeAsyncIterator(), source: source)
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var iterator: AsyncStream<Sample>.AsyncIterator
    // A loop over a sequence that nobody else holds must go on.
    fileprivate let source: Source

    public mutating func next() async -> Sample? { await iterator.next() }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Sample? {
      await iterator.next(isolation: actor)
    }
  }

  /// Ends the updates when the last copy of the sequence and of its iterators is gone.
  fileprivate final class Source: Sendable {
    let subscription: Subscription
    let dropped: Locked<Int>
    let finish: @Sendable () -> Void

    init(subscription: Subscription, dropped: Locked<Int>, finish: @escaping @Sendable () -> Void) {
      (self.subscription, self.dropped, self.finish) = (subscription, dropped, finish)
    }

    deinit { finish() }
  }
}

/// One consumer that was counted in; counted out when it is stopped or let go of.
final class Subscription: Sendable {
  /// Seconds between samples as they really come; nil while the hardware has not said, and after the end.
  let effectiveInterval: @Sendable () -> Double?
  /// Once is enough.
  let stop: @Sendable () -> Void

  init(effectiveInterval: @escaping @Sendable () -> Double?, stop: @escaping @Sendable () -> Void) {
    (self.effectiveInterval, self.stop) = (effectiveInterval, stop)
  }

  deinit { stop() }
}
