internal import Platform

/// One consumer's samples, handed to its handler one after the other on a thread of its own: every one, in order.
///
/// `capacity` samples wait while the handler is busy; beyond that the oldest make room and are counted in `overflowCount`.
/// The updates go on until `stop()`, or until this is let go of.
public final class HandledSamples<Sample: Sendable>: Sendable {
  private let stream: SampleStream<Sample>

  /// - Throws: `SystemError` when the kernel has no room for another thread.
  init(
    _ stream: SampleStream<Sample>, handler: @escaping @Sendable (Sample) -> Void
  ) throws(SystemError) {
    self.stream = stream
    let thread = try DedicatedThread.start(name: "motion handler") {
      while let sample = stream.next() { handler(sample) }
    }
    // `stop` may be called by the handler, which cannot wait for its own thread.
    thread.detach()
  }

  // The thread holds the stream, not this.
  deinit { stream.stop() }

  /// How many samples wait at most.
  public var capacity: Int { stream.capacity }

  /// Samples that made room for newer ones since the start.
  public var overflowCount: Int { stream.overflowCount }

  /// Seconds between samples as they really come; nil while the hardware has not said, and after the end.
  public var effectiveInterval: Double? { stream.effectiveInterval }

  /// Ends the updates. Samples that wait are still handed over.
  public func stop() { stream.stop() }
}
