package import Spatial

/// A ring buffer of the packed samples of the last seconds at full rate. 30 s of six axes at 400 Hz need
/// about 45 kB.
///
/// Samples arrive approximately in order of time; those of one sensor are in order. The newest samples are in
/// an open block, which is packed every two seconds. Appending a sample allocates no memory in steady state.
/// Time advances only with samples, so no sample expires unless new samples arrive.
package struct TraceRing: Sendable {
  package struct Settings: Hashable, Sendable {
    /// The minimum time span in seconds that the ring retains, once it is filled.
    package var seconds = 30.0
    /// The maximum size of packed blocks in bytes. The oldest blocks are dropped.
    package var bytes = 512 * 1024
    /// The duration in seconds after which a block is packed.
    package var blockSeconds = 2.0
    /// The number of samples after which a block is packed, even if its duration is shorter.
    package var blockCount = 4096

    package init() {}
  }

  private struct Sealed: Sendable {
    /// The sequence number of the block, counted since the ring was created.
    var number: Int
    var times: ClosedRange<Timestamp>
    var count: Int
    var bytes: [UInt8]
  }

  private let settings: Settings
  private var finder = ResolutionFinder()
  private var open = TraceBlock()
  private var sealed: [Sealed] = []
  private var newest: Timestamp?
  private var packed = 0
  /// The total size of the packed blocks in bytes.
  private(set) package var byteCount = 0
  /// The number of samples that were dropped because their time was invalid or a block was full.
  private(set) package var refused = 0

  /// The maximum time in seconds by which a sample may be older than the newest one; positions can arrive
  /// late.
  private static let late = 5.0
  /// The maximum time in seconds between a sample and the newest one. After a larger jump of the clock, the
  /// ring is emptied.
  private static let leap = 60.0

  package init(settings: Settings = Settings()) { self.settings = settings }

  /// The time range of the stored samples; nil if the ring is empty.
  package var times: ClosedRange<Timestamp>? {
    let all = sealed.map(\.times) + (open.times.map { [$0] } ?? [])
    guard let first = all.map(\.lowerBound).min(), let last = all.map(\.upperBound).max() else { return nil }
    return first...last
  }

  /// The number of stored samples.
  package var count: Int { sealed.reduce(open.count) { $0 + $1.count } }

  package mutating func append(_ sample: TraceSample) {
    let time = sample.timestamp
    if let newest {
      let ahead = time.seconds(since: newest)
      // Samples before a jump of the clock are not comparable with later samples.
      if abs(ahead) > Self.leap {
        removeAll()
      } else if ahead < -Self.late {
        refused += 1
        return
      }
    }
    let hasChanged = finder.process(sample)
    let isDue =
      open.times.map { time.seconds(since: $0.lowerBound) >= settings.blockSeconds } ?? false
    if isDue || hasChanged || open.count >= settings.blockCount { seal() }
    if !open.append(sample) {
      // The number of texts in a block is limited, so the sample may fit in a new block.
      seal()
      if !open.append(sample) { refused += 1 }
    }
    newest = max(newest ?? time, time)
  }

  /// Removes all samples.
  package mutating func removeAll() {
    (sealed, byteCount, newest) = ([], 0, nil)
    open.removeAll()
  }

  private mutating func seal() {
    if let times = open.times {
      packed += 1
      let block = Sealed(number: packed, times: times, count: open.count, bytes: open.bytes)
      sealed.append(block)
      byteCount += block.bytes.count
    }
    let resolution = finder.resolution
    if resolution == open.resolution { open.removeAll() } else { open = TraceBlock(resolution: resolution) }
    let last = max(newest ?? .distantPast, sealed.last?.times.upperBound ?? .distantPast)
    let surplus = sealed.prefix { block in
      let isOld = last.seconds(since: block.times.upperBound) > settings.seconds
      guard isOld || byteCount > settings.bytes else { return false }
      byteCount -= block.bytes.count
      return true
    }
    sealed.removeFirst(surplus.count)
  }

  /// Packs the open block and returns the blocks with a higher sequence number than a given one. If each call
  /// passes the number that the previous call returned, every sample is returned once.
  /// - Parameters:
  ///   - number: the number returned by the previous call; 0 for all blocks.
  ///   - start: blocks that end before this time are omitted.
  package mutating func cut(
    after number: Int, from start: Timestamp? = nil
  ) -> (blocks: [[UInt8]], number: Int) {
    seal()
    let new = sealed.filter { block in
      block.number > number && start.map { block.times.upperBound >= $0 } ?? true
    }
    return (new.map(\.bytes), packed)
  }

  /// Returns the blocks with samples in a time range, in order, including the open block.
  package func blocks(_ span: ClosedRange<Timestamp>) -> [[UInt8]] {
    var blocks = sealed.filter { $0.times.overlaps(span) }.map(\.bytes)
    if let times = open.times, times.overlaps(span) { blocks.append(open.bytes) }
    return blocks
  }
}

extension Timestamp {
  fileprivate static var distantPast: Timestamp { Timestamp(nanoseconds: .min / 2) }
}
