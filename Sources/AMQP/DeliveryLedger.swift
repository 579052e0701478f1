/// Which deliveries belong to which batch, until they are acknowledged. Pure.
///
/// Batches are numbered over the consumer's whole life, deliveries anew on each channel, which has a ledger of its own: with a
/// channel go all of its deliveries, which the broker hands out again.
package struct DeliveryLedger: Sendable {
  private struct Entry {
    var number: UInt64
    var tag: UInt64
    var count: Int
    var bytes: Int
  }

  private var entries: [Entry] = []
  private var settledThrough: UInt64 = 0
  /// Messages that are handed over and not acknowledged on this channel.
  package private(set) var unacknowledged = 0

  package init() {}

  /// A batch was handed over.
  /// - Parameters:
  ///   - number: larger than those before.
  ///   - tag: of its last delivery.
  ///   - bytes: of all its payloads.
  package mutating func held(_ number: UInt64, tag: UInt64, count: Int, bytes: Int) {
    entries.append(Entry(number: number, tag: tag, count: count, bytes: bytes))
    unacknowledged += count
  }

  /// Batches up to this number are stored.
  package mutating func settle(through number: UInt64) { settledThrough = max(settledThrough, number) }

  /// What is to be acknowledged now, all up to a delivery's tag; nil for nothing.
  package mutating func due() -> (tag: UInt64, count: Int, bytes: Int)? {
    let end = entries.firstIndex { $0.number > settledThrough } ?? entries.count
    guard end > 0 else { return nil }
    let count = entries[..<end].reduce(0) { $0 + $1.count }
    let bytes = entries[..<end].reduce(0) { $0 + $1.bytes }
    let tag = entries[end - 1].tag
    entries.removeFirst(end)
    unacknowledged -= count
    return (tag, count, bytes)
  }
}
