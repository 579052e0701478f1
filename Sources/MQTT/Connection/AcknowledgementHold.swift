internal import Platform

/// Tracks the batches of a connection that the handler has not stored yet, and decides whether reading may
/// continue.
///
/// The library writes acknowledgements from one queue, so they can be written only while all received
/// messages are stored. To reach this state, reading pauses after `Bounds.portion` messages. Meanwhile the
/// network buffers further messages, which are then read together; this costs less than reading them one by
/// one. If nothing is stored within `timeout`, for example because a database is unavailable, reading resumes
/// until `Bounds.count` or `Bounds.bytes` is reached. As soon as some batches are stored, reading pauses
/// until the rest are stored. This type does no I/O.
struct AcknowledgementHold {
  /// Limits for unstored messages.
  struct Bounds {
    /// Number of unstored messages from which reading pauses.
    var portion: Int
    /// Number of unstored messages and of their bytes from which reading stops, even after `timeout`.
    var count: Int
    var bytes: Int
  }

  /// Time in s after which a pause ends although nothing was stored.
  static let timeout = 0.25

  private let bounds: Bounds
  /// Number of the newest unstored batch of this connection; 0 for none.
  private var last: UInt64 = 0
  /// Batches up to this number are stored.
  private var settled: UInt64 = 0
  private var count = 0
  private var bytes = 0
  private var isDraining = false
  /// Time at which reading resumes even if nothing is stored; nil while fewer than `Bounds.portion`
  /// messages are unstored.
  private var pauseEnd: MonotonicTime?

  init(_ bounds: Bounds) { self.bounds = bounds }

  /// True if a batch is not yet stored. The library must not write then, because it could send
  /// acknowledgements.
  var isHolding: Bool { settled < last }

  /// Returns whether further messages may be read.
  func mayRead(at now: MonotonicTime) -> Bool {
    guard isHolding else { return true }
    return !isDraining && count < bounds.count && bytes < bounds.bytes && pauseEnd.map { now >= $0 } ?? true
  }

  /// Returns the next time at which `mayRead` can change without an event; nil if it cannot.
  func deadline(after now: MonotonicTime) -> MonotonicTime? { pauseEnd.flatMap { now < $0 ? $0 : nil } }

  /// Adds a batch that the handler has received but not stored yet.
  mutating func held(_ number: UInt64, count: Int, bytes: Int, at now: MonotonicTime) {
    last = max(last, number)
    self.count += count
    self.bytes += bytes
    if pauseEnd == nil, self.count >= bounds.portion { pauseEnd = now.advanced(bySeconds: Self.timeout) }
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
