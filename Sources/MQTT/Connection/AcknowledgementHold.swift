/// Which batches of a connection are handed over but not yet stored, and whether more may be read meanwhile.
///
/// The library keeps acknowledgements in one queue, so they leave together: only when nothing that was read is still
/// unstored. So that this moment comes, reading pauses when a portion is read, and the network keeps what comes
/// meanwhile: it is read in one go when the portion is stored, which costs less than reading it as it comes. While
/// nothing gets stored (a database is away), reading goes on after a while, up to the bounds; as soon as a part is
/// stored, it pauses until the rest is. Pure.
struct AcknowledgementHold {
  /// How much is read at most before something of it is stored.
  struct Bounds {
    /// Messages after which reading pauses.
    var portion: Int
    /// Messages and bytes above which nothing is read, however long the pause.
    var count: Int
    var bytes: Int
  }

  /// Nanoseconds that a portion has to be stored before reading goes on without that.
  static let patience: Int64 = 250_000_000

  private let bounds: Bounds
  /// The number of the newest batch of this connection that was handed over on trust; 0 is none.
  private var last: UInt64 = 0
  /// Batches up to this number are stored.
  private var settled: UInt64 = 0
  private var count = 0
  private var bytes = 0
  private var isDraining = false
  /// When reading goes on if nothing is stored; nil while the portion is not full.
  private var pauseEnd: Int64?

  init(_ bounds: Bounds) { self.bounds = bounds }

  /// Whether something is handed over and not yet stored: nothing may be written then.
  var isHolding: Bool { settled < last }

  /// Whether there is room for more of it.
  func mayRead(at now: Int64) -> Bool {
    guard isHolding else { return true }
    return !isDraining && count < bounds.count && bytes < bounds.bytes && pauseEnd.map { now >= $0 } ?? true
  }

  /// When `mayRead` has to be asked again though nothing has happened; nil when that changes nothing.
  func deadline(after now: Int64) -> Int64? { pauseEnd.flatMap { now < $0 ? $0 : nil } }

  /// A batch was handed over on trust.
  mutating func held(_ number: UInt64, count: Int, bytes: Int, at now: Int64) {
    last = max(last, number)
    self.count += count
    self.bytes += bytes
    if pauseEnd == nil, self.count >= bounds.portion { pauseEnd = now + Self.patience }
  }

  /// All batches up to this number are stored.
  mutating func settled(through number: UInt64) {
    guard number > settled else { return }
    settled = number
    isDraining = isHolding
    if !isHolding { empty() }
  }

  private mutating func empty() { (count, bytes, pauseEnd) = (0, 0, nil) }
}
