/// Which batches of a connection are handed over but not yet stored, and whether more may be read meanwhile.
///
/// The library keeps acknowledgements in one queue, so they leave together: only when nothing that was read is still
/// unstored. So that this moment comes, reading stops as soon as a part is stored, until the rest is. While nothing
/// is (a database is away), reading goes on up to the bounds. Pure.
struct AcknowledgementHold {
  /// Bounds of what is read and not yet acknowledged.
  private let countLimit: Int
  private let byteLimit: Int
  /// The number of the newest batch of this connection that was handed over on trust; 0 is none.
  private var last: UInt64 = 0
  /// Batches up to this number are stored.
  private var settled: UInt64 = 0
  private var count = 0
  private var bytes = 0
  private var isDraining = false

  init(countLimit: Int, byteLimit: Int) {
    self.countLimit = countLimit
    self.byteLimit = byteLimit
  }

  /// Whether something is handed over and not yet stored: nothing may be written then.
  var isHolding: Bool { settled < last }

  /// Whether there is room for more of it.
  var mayRead: Bool { !isHolding || (!isDraining && count < countLimit && bytes < byteLimit) }

  /// A batch was handed over on trust.
  mutating func held(_ number: UInt64, count: Int, bytes: Int) {
    last = max(last, number)
    self.count += count
    self.bytes += bytes
  }

  /// All batches up to this number are stored.
  mutating func settled(through number: UInt64) {
    guard number > settled else { return }
    settled = number
    isDraining = isHolding
    if !isHolding { (count, bytes) = (0, 0) }
  }

  /// A new connection: the broker sends again what was not acknowledged, under new numbers.
  mutating func begin() { (last, count, bytes, isDraining) = (0, 0, 0, false) }
}
