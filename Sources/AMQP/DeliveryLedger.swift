/// The assignment of deliveries to batches until they are acknowledged. A pure value type.
///
/// Batches are numbered over the consumer's lifetime, deliveries anew on each channel. Each channel therefore
/// has its own ledger: when it closes, the broker redelivers all of its deliveries.
package struct DeliveryLedger: Sendable {
  private struct Entry {
    var number: UInt64
    var tag: UInt64
    var count: Int
    var bytes: Int
  }

  private var entries: [Entry] = []
  private var settledThrough: UInt64 = 0
  /// The number of received, unacknowledged messages on this channel.
  package private(set) var unacknowledged = 0

  package init() {}

  /// Records that a batch was handed over.
  /// - Parameters:
  ///   - number: number of the batch, larger than all earlier ones.
  ///   - tag: the tag of its last delivery.
  ///   - bytes: the size of all its payloads.
  package mutating func held(_ number: UInt64, tag: UInt64, count: Int, bytes: Int) {
    entries.append(Entry(number: number, tag: tag, count: count, bytes: bytes))
    unacknowledged += count
  }

  /// Records that batches up to this number are stored.
  package mutating func settle(through number: UInt64) { settledThrough = max(settledThrough, number) }

  /// Returns the deliveries that can be acknowledged now, which are all up to a tag; nil if there are none.
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
