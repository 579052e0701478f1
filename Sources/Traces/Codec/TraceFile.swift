internal import Bytes
package import Spatial

/// A trace file: a header, and blocks with a checksum each. The file is written sequentially; after a loss of
/// power all complete blocks are readable.
///
/// Format: `ODOTRACE`, version (1 byte), UTC minus device time (ns, 8 bytes), time of the traced event
/// (device time, ns, 8 bytes), CRC-32 of these fields. Then for each block: its length (4 bytes), the CRC-32
/// of its bytes (4 bytes), its bytes. All integers are little-endian.
package struct TraceFile: Sendable {
  /// The metadata of a trace.
  package struct Head: Hashable, Sendable {
    /// The time of the event for which the trace was recorded, by the device's monotonic clock.
    package var moment: Timestamp
    /// Nanoseconds to add to a timestamp for UTC; 0 if civil time was unknown.
    package var utcOffset: Int64

    package init(moment: Timestamp, utcOffset: Int64) {
      (self.moment, self.utcOffset) = (moment, utcOffset)
    }
  }

  package let head: Head
  /// The packed blocks, in the format of `TraceBlock`.
  package let blocks: [[UInt8]]
  /// The number of bytes at the end that are no complete block, because the file was truncated or damaged.
  package let lostBytes: Int

  private static let magic = Array("ODOTRACE".utf8)
  private static let version: UInt8 = 1
  private static let headSize = magic.count + 1 + 16 + 4
  /// The maximum size of a block in bytes.
  private static let mostBytes = 16 * 1024 * 1024

  /// Returns whether bytes start with the magic number of a trace file.
  package static func isHead(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  /// Encodes the header of a file.
  package static func bytes(_ head: Head) -> [UInt8] {
    var bytes = magic + [version]
    bytes.append(little: head.utcOffset)
    bytes.append(little: head.moment.nanoseconds)
    bytes.append(little: CRC32.checksum(bytes))
    return bytes
  }

  /// Encodes a block with its length and checksum.
  package static func bytes(block: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(little: UInt32(block.count))
    bytes.append(little: CRC32.checksum(block))
    return bytes + block
  }

  /// Decodes all complete blocks; nil if the bytes are not a trace.
  package init?(bytes: [UInt8]) {
    guard bytes.count >= Self.headSize, bytes.starts(with: Self.magic),
      bytes[Self.magic.count] == Self.version,
      CRC32.checksum(bytes[..<(Self.headSize - 4)]) == UInt32(little: bytes, at: Self.headSize - 4)
    else { return nil }
    head = Head(
      moment: Timestamp(nanoseconds: Int64(little: bytes, at: Self.magic.count + 9)),
      utcOffset: Int64(little: bytes, at: Self.magic.count + 1))
    var place = Self.headSize
    var blocks: [[UInt8]] = []
    while bytes.count - place >= 8 {
      let length = Int(UInt32(little: bytes, at: place))
      guard length <= Self.mostBytes, length <= bytes.count - place - 8 else { break }
      let block = bytes[place + 8..<place + 8 + length]
      guard CRC32.checksum(block) == UInt32(little: bytes, at: place + 4) else { break }
      blocks.append(Array(block))
      place += 8 + length
    }
    self.blocks = blocks
    lostBytes = bytes.count - place
  }

  /// The samples in order of time, without those of blocks that cannot be decoded.
  package var samples: [TraceSample] {
    var samples: [TraceSample] = []
    for block in blocks { samples += TraceBlock(bytes: block)?.samples ?? [] }
    // `sort` is stable, so samples with equal times keep their order.
    return samples.sorted { $0.timestamp < $1.timestamp }
  }
}
