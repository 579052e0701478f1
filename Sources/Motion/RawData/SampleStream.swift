internal import Platform

/// One consumer's samples, on their way from the sensor's thread to the consumer's: every one, in order.
///
/// It holds `capacity` samples while the consumer is busy; beyond that the oldest make room and are counted in
/// `overflowCount`. Ending it counts the consumer out, and the sensor sleeps when it was the last.
public final class SampleStream<Sample: Sendable>: Sendable {
  /// Samples that are held while the consumer is busy: 5 s at 100 Hz.
  public static var defaultCapacity: Int { 512 }

  /// How many samples are held at most.
  public let capacity: Int
  let queue: BoundedQueue<Sample>
  private let ending: @Sendable () -> Void

  init(capacity: Int, ending: @escaping @Sendable () -> Void) {
    self.capacity = max(1, capacity)
    queue = BoundedQueue(capacity: max(1, capacity))
    self.ending = ending
  }

  deinit { ending() }

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

  /// Ends the updates. Samples that wait are still handed out.
  public func stop() {
    queue.close()
    ending()
  }
}
