public import Spatial

/// The last seconds of everything, at full rate, packed: 30 s of six axes at 400 Hz take some 45 kB.
///
/// Samples come in order of time, as far as sensors are in order among each other. The newest lie open; each two seconds they are packed
/// into a block. In the steady state a sample allocates nothing. Time comes in with the samples: where none come, nothing is forgotten.
public struct TraceRing: Sendable {
  public struct Settings: Hashable, Sendable {
    /// Seconds that are there at least, as far as there was so much.
    public var seconds = 30.0
    /// Bytes of packed blocks at most; the oldest make room.
    public var bytes = 512 * 1024
    /// Seconds, and samples, after which a block is packed.
    public var blockSeconds = 2.0
    public var blockCount = 4096

    public init() {}
  }

  private struct Sealed: Sendable {
    /// Counts all blocks that the ring ever packed.
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
  /// Of packed blocks.
  private(set) public var byteCount = 0
  /// Samples that were left out because a time was not, or a block had no room.
  private(set) public var refused = 0

  /// Seconds by which a sample may be before the newest, as positions are that took a while.
  private static let late = 5.0
  /// Seconds by which one may be ahead: a clock that leaps ahead empties no ring.
  private static let leap = 60.0

  public init(settings: Settings = Settings()) { self.settings = settings }

  /// The times of the samples that are there; nil while there are none.
  public var times: ClosedRange<Timestamp>? {
    let all = sealed.map(\.times) + (open.times.map { [$0] } ?? [])
    guard let first = all.map(\.lowerBound).min(), let last = all.map(\.upperBound).max() else { return nil }
    return first...last
  }

  /// Samples that are there.
  public var count: Int { sealed.reduce(open.count) { $0 + $1.count } }

  public mutating func append(_ sample: TraceSample) {
    let time = sample.timestamp
    if let newest {
      let ahead = time.seconds(since: newest)
      // What was before a leap of the clock is of another time line.
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
      // The texts of a block are bounded; the next one has room.
      seal()
      if !open.append(sample) { refused += 1 }
    }
    newest = max(newest ?? time, time)
  }

  /// Forgets all samples.
  public mutating func removeAll() {
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

  /// Packs what lies open, and gives the blocks that were packed after one, so that calls with the number of the call before
  /// together give each sample once.
  /// - Parameters:
  ///   - number: 0 for all.
  ///   - start: blocks that end before it are left out.
  public mutating func cut(
    after number: Int, from start: Timestamp? = nil
  ) -> (blocks: [[UInt8]], number: Int) {
    seal()
    let new = sealed.filter { block in
      block.number > number && start.map { block.times.upperBound >= $0 } ?? true
    }
    return (new.map(\.bytes), packed)
  }

  /// The blocks with samples in a span, the open one as it is, in order.
  public func blocks(_ span: ClosedRange<Timestamp>) -> [[UInt8]] {
    var blocks = sealed.filter { $0.times.overlaps(span) }.map(\.bytes)
    if let times = open.times, times.overlaps(span) { blocks.append(open.bytes) }
    return blocks
  }
}

extension Timestamp {
  fileprivate static var distantPast: Timestamp { Timestamp(nanoseconds: .min / 2) }
}
