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

  init(capacity: Int, _ make: (_ outlet: SampleOutlet<Sample>) -> Subscription) {
    self.capacity = max(1, capacity)
    let queue = BoundedQueue<Sample>(capacity: max(1, capacity))
    self.queue = queue
    // The queue and not the stream: a stream that is let go of counts its consumer out, which takes the very lock that is
    // held while samples are offered.
    subscription = make(SampleOutlet(push: { queue.push($0) }, finish: { queue.close() }))
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

/// Where a consumer's samples go in.
package struct SampleOutlet<Sample: Sendable>: Sendable {
  package let push: @Sendable (Sample) -> Void
  /// No sample follows; those that wait are still handed out. Never called under the lock under which `push` is: it counts
  /// the consumer out.
  package let finish: @Sendable () -> Void
}

/// One consumer that was counted in; counted out when it is stopped or let go of.
package final class Subscription: Sendable {
  /// Seconds between samples as they really come; nil while the hardware has not said, and after the end.
  package let effectiveInterval: @Sendable () -> Double?
  /// Once is enough.
  package let stop: @Sendable () -> Void

  package init(
    effectiveInterval: @escaping @Sendable () -> Double? = { nil }, stop: @escaping @Sendable () -> Void
  ) {
    (self.effectiveInterval, self.stop) = (effectiveInterval, stop)
  }

  deinit { stop() }
}
