internal import Bytes
internal import Motion
internal import Platform
internal import Sensors
internal import Spatial

/// Identity of one boot of the machine. Timestamps count from boot, so they are comparable only with equal
/// identities. On Linux it is the kernel's `/proc/sys/kernel/random/boot_id`.
public struct BootIdentity: Hashable, Sendable {
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Parses the kernel's form, 32 hexadecimal digits with or without hyphens; nil for any other text.
  public init?(_ text: some StringProtocol) {
    let digits = String(text.filter { $0 != "-" && !$0.isWhitespace })
    guard digits.utf8.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
      let low = UInt64(digits.dropFirst(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }
}

/// Consecutive samples of one boot of the machine, stored as one segment of the recorder's file.
///
/// # On disk
///
/// The file is an array of independent slots of 4096 bytes. All numbers are little-endian.
///
/// | bytes | content |
/// | --- | --- |
/// | 0 ..< 8 | `ODOACC01` |
/// | 8 ..< 12 | CRC-32 (IEEE 802.3) of bytes 12 ..< 64 + 8·count |
/// | 12 ..< 14 | count, 1 ... 504 |
/// | 14 ..< 16 | zero |
/// | 16 ..< 24 | sequence number, from 1; stored in the slot after the predecessor's, or in the first |
/// | 24 ..< 40 | boot identity, two 64-bit words |
/// | 40 ..< 48 | timestamp of the first sample, ns since boot |
/// | 48 ..< 56 | ns to add to a timestamp for UTC; the smallest number if unknown at the time of writing |
/// | 56 ..< 60 | float32: scale of readings in g |
/// | 60 ..< 64 | float32: time unit in ns |
/// | from 64 | for each sample x, y, z (int16, times the scale) and the time since the sample before (uint16, units) |
///
/// The scale is chosen for the largest reading of the segment, so a quiet segment resolves 0.03 mg; the error is
/// half a unit. The time unit is chosen for the largest interval; rounding errors are carried over and do not add
/// up.
struct RecordedSegment: Hashable, Sendable {
  /// Sequence number, larger than that of every earlier segment.
  var sequence: UInt64
  var boot: BootIdentity
  /// Nanoseconds to add to a timestamp for UTC; nil if the clock was not set.
  var utcOffset: Int64?
  /// Samples in order of time.
  var samples: [AccelerometerData]

  static let slotSize = 4096
  static let headerSize = 64
  static let capacity = (slotSize - headerSize) / 8
  /// Longest time in s between two samples of a segment. A longer gap starts a new segment.
  static let longestInterval = 2.0
  private static let magic: [UInt8] = Array("ODOACC01".utf8)
  private static let unknownOffset = Int64.min

  /// Returns the contents of one slot.
  func encoded() -> [UInt8] {
    var bytes = Self.magic
    bytes.reserveCapacity(Self.slotSize)
    let first = samples.first?.timestamp.nanoseconds ?? 0
    let largest = samples.reduce(0) {
      max($0, abs($1.acceleration.x), abs($1.acceleration.y), abs($1.acceleration.z))
    }
    let scale = Float(max(largest, 1e-6) / 32_767).nextUp
    var longest: Int64 = 1
    for (sample, next) in zip(samples, samples.dropFirst()) {
      longest = max(longest, next.timestamp.nanoseconds &- sample.timestamp.nanoseconds)
    }
    let unit = Float(Double(longest) / 65_000).nextUp
    bytes.append(little: UInt32(0))
    bytes.append(little: UInt16(samples.count))
    bytes.append(little: UInt16(0))
    bytes.append(little: sequence)
    bytes.append(little: boot.high)
    bytes.append(little: boot.low)
    bytes.append(little: first)
    bytes.append(little: utcOffset ?? Self.unknownOffset)
    bytes.append(little: scale.bitPattern)
    bytes.append(little: unit.bitPattern)
    var written = 0.0  // units since the first sample
    for sample in samples {
      for component in [sample.acceleration.x, sample.acceleration.y, sample.acceleration.z] {
        bytes.append(little: Int16(max(-32_767, min(32_767, (component / Double(scale)).rounded()))))
      }
      let units = (Double(sample.timestamp.nanoseconds &- first) / Double(unit)).rounded()
      let step = max(0, min(65_535, units - written))
      written += step
      bytes.append(little: UInt16(step))
    }
    let checksum = CRC32.checksum(bytes[12...])
    for index in 0..<4 { bytes[8 + index] = UInt8(truncatingIfNeeded: checksum >> (8 * UInt32(index))) }
    bytes.append(contentsOf: repeatElement(0, count: Self.slotSize - bytes.count))
    return bytes
  }

}

extension RecordedSegment {
  /// Decodes a slot; nil if it is torn, damaged or empty.
  init?(slot bytes: [UInt8]) {
    guard bytes.count >= Self.headerSize, bytes.starts(with: Self.magic) else { return nil }
    let count = Int(UInt16(little: bytes, at: 12))
    let end = Self.headerSize + 8 * count
    guard (1...Self.capacity).contains(count), bytes.count >= end,
      CRC32.checksum(bytes[12..<end]) == UInt32(little: bytes, at: 8)
    else { return nil }
    sequence = UInt64(little: bytes, at: 16)
    boot = BootIdentity(high: UInt64(little: bytes, at: 24), low: UInt64(little: bytes, at: 32))
    let first = Int64(little: bytes, at: 40)
    let offset = Int64(little: bytes, at: 48)
    utcOffset = offset == Self.unknownOffset ? nil : offset
    let scale = Double(Float(bitPattern: UInt32(little: bytes, at: 56)))
    let unit = Double(Float(bitPattern: UInt32(little: bytes, at: 60)))
    guard scale.isFinite, unit.isFinite else { return nil }
    samples = []
    samples.reserveCapacity(count)
    var units = 0.0
    for index in 0..<count {
      let place = Self.headerSize + 8 * index
      func component(_ number: Int) -> Double { Double(Int16(little: bytes, at: place + 2 * number)) * scale }
      units += Double(UInt16(little: bytes, at: place + 6))
      samples.append(
        AccelerometerData(
          timestamp: Timestamp(nanoseconds: first).advanced(bySeconds: units * unit * 1e-9),
          acceleration: Vector3(component(0), component(1), component(2))))
    }
  }
}

/// File positions and times of all segments, rebuilt when the file is opened (one second for 100 MB).
struct SegmentIndex: Sendable {
  struct Entry: Sendable {
    var sequence: UInt64
    var slot: Int
    var boot: BootIdentity
    var first: Timestamp
    var last: Timestamp
  }

  private(set) var entries: [Entry] = []
  /// Last UTC offset of each boot in nanoseconds.
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

  /// Returns the index of the slot to write next: the one after the newest, or 0 from `limit` on.
  func nextSlot(limit: Int) -> Int {
    guard let newest else { return 0 }
    let next = newest.slot + 1
    return next < limit && next <= slotCount ? next : 0
  }

  mutating func record(_ segment: RecordedSegment, in slot: Int) {
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
