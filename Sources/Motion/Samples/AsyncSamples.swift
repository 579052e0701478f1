internal import Platform

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
  public var effectiveInterval: Double? { source.subscription.effectiveInterval }

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
