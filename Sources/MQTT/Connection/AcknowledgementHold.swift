/// Tracks the batches of a connection that the handler has not stored yet, and decides whether reading may
/// continue.
///
/// The library has one queue of acknowledgements, so they can be sent only while no message is unstored. To
/// reach such moments, reading pauses after a portion. Meanwhile the network buffers further messages, which
/// are then read in one go; this costs less than reading them one by one. If nothing is stored (a database is
/// unavailable), reading resumes after a time limit, up to the bounds. As soon as a part is stored, it pauses
/// until the rest is. This type does no I/O.
struct AcknowledgementHold {
  /// Limits for unstored messages.
  struct Bounds {
    /// Number of messages after which reading pauses.
    var portion: Int
    /// Number of messages and bytes above which nothing is read, regardless of the duration of the pause.
    var count: Int
    var bytes: Int
  }

  /// Time in ns after which reading resumes although the portion is not stored.
  static let timeout: Int64 = 250_000_000

  private let bounds: Bounds
  /// Number of the newest unstored batch of this connection; 0 for none.
  private var last: UInt64 = 0
  /// Batches up to this number are stored.
  private var settled: UInt64 = 0
  private var count = 0
  private var bytes = 0
  private var isDraining = false
  /// Time in ns at which reading resumes even if nothing is stored; nil while the portion is not full.
  private var pauseEnd: Int64?

  init(_ bounds: Bounds) { self.bounds = bounds }

  /// True if a batch is not yet stored. Nothing may be written then.
  var isHolding: Bool { settled < last }

  /// Returns whether further messages may be read.
  func mayRead(at now: Int64) -> Bool {
    guard isHolding else { return true }
    return !isDraining && count < bounds.count && bytes < bounds.bytes && pauseEnd.map { now >= $0 } ?? true
  }

  /// Returns the next time at which `mayRead` can change without an event; nil if it cannot.
  func deadline(after now: Int64) -> Int64? { pauseEnd.flatMap { now < $0 ? $0 : nil } }

  /// Adds a batch that was handed over but not stored.
  mutating func held(_ number: UInt64, count: Int, bytes: Int, at now: Int64) {
    last = max(last, number)
    self.count += count
    self.bytes += bytes
    if pauseEnd == nil, self.count >= bounds.portion { pauseEnd = now + Self.timeout }
  }

  /// Records that all batches up to this number are stored.
  mutating func settled(through number: UInt64) {
    guard number > settled else { return }
    settled = number
    isDraining = isHolding
    if !isHolding { empty() }
  }

  private mutating func empty() { (count, bytes, pauseEnd) = (0, 0, nil) }
}
