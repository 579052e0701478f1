internal import Platform

/// One consumer's samples, on their way from the sensor's thread to the consumer's: every one, in order.
///
/// It holds `capacity` samples while the consumer is busy; beyond that the oldest make room and are counted in
/// `overflowCount`. Ending it counts the consumer out, and the sensor sleeps when it was the last. For tasks there is
/// `AsyncSamples`, for a handler `HandledSamples`.
public final class SampleStream<Sample: Sendable>: Sendable {
  /// Samples that are held while the consumer is busy: 5 s at 100 Hz.
  public static var defaultCapacity: Int { 512 }

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
  public var effectiveInterval: Double? { subscription.effectiveInterval }

  /// Ends the updates. Samples that wait are still handed out.
  public func stop() {
    queue.close()
    subscription.stop()
  }
}
