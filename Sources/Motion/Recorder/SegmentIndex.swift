internal import Platform
internal import Sensors
internal import Spatial

/// Where each segment lies and when it was taken; rebuilt from the file when it is opened (a second for 100 MB).
struct SegmentIndex: Sendable {
  struct Entry: Sendable {
    var sequence: UInt64
    var slot: Int
    var boot: BootIdentity
    var first: Timestamp
    var last: Timestamp
  }

  private(set) var entries: [Entry] = []
  /// For each run of the machine the offset to UTC that was known last.
  private(set) var offsets: [BootIdentity: Int64] = [:]
  private(set) var slotCount = 0
  private(set) var damaged = 0
  private var newest: (sequence: UInt64, slot: Int)?

  init(scanning file: borrowing RandomAccessFile) throws(SystemError) {
    let size = try Int(file.size)
    let slots = (size + RecordedSegment.slotSize - 1) / RecordedSegment.slotSize
    var sequenceOfOffset: [BootIdentity: UInt64] = [:]
    for slot in 0..<slots {
      let bytes = try file.read(
        count: RecordedSegment.slotSize, at: Int64(slot * RecordedSegment.slotSize))
      guard let segment = RecordedSegment(slot: bytes) else {
        damaged += 1
        continue
      }
      slotCount = slot + 1
      add(segment, in: slot)
      if let offset = segment.utcOffset, segment.sequence >= sequenceOfOffset[segment.boot] ?? 0 {
        sequenceOfOffset[segment.boot] = segment.sequence
        offsets[segment.boot] = offset
      }
    }
  }

  var nextSequence: UInt64 { (newest?.sequence ?? 0) + 1 }

  /// The slot after the newest one, within the limit.
  func nextSlot(limit: Int) -> Int {
    guard let newest else { return 0 }
    let next = newest.slot + 1
    return next < limit && next <= slotCount ? next : 0
  }

  mutating func note(_ segment: RecordedSegment, in slot: Int) {
    entries.removeAll { $0.slot == slot }
    slotCount = max(slotCount, slot + 1)
    add(segment, in: slot)
    if let offset = segment.utcOffset { offsets[segment.boot] = offset }
  }

  mutating func forget(slotsFrom limit: Int) {
    entries.removeAll { $0.slot >= limit }
    slotCount = min(slotCount, limit)
  }

  private mutating func add(_ segment: RecordedSegment, in slot: Int) {
    guard let first = segment.samples.first?.timestamp, let last = segment.samples.last?.timestamp else {
      return
    }
    entries.append(
      Entry(sequence: segment.sequence, slot: slot, boot: segment.boot, first: first, last: last))
    if segment.sequence >= newest?.sequence ?? 0 { newest = (segment.sequence, slot) }
  }
}
