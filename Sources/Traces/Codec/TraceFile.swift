internal import Bytes
public import Spatial

/// A trace in a file, or on its way: a head, and blocks that each have a checksum. It is written in order and ends anywhere: whatever
/// was whole before a loss of power is read.
///
/// `ODOTRACE`, version (1 byte), UTC minus device time (ns, 8 bytes), the moment that it is of (device time, ns, 8 bytes), CRC-32 of these;
/// then for each block its length (4 bytes), the CRC-32 of its bytes (4 bytes) and its bytes. All numbers have the low byte first.
public struct TraceFile: Sendable {
  /// What is known of the trace as a whole.
  public struct Head: Hashable, Sendable {
    /// The moment that it was kept for, on the device's time line.
    public var moment: Timestamp
    /// Nanoseconds to add to a timestamp for UTC; 0 where civil time was not known.
    public var utcOffset: Int64

    public init(moment: Timestamp, utcOffset: Int64) {
      (self.moment, self.utcOffset) = (moment, utcOffset)
    }
  }

  public let head: Head
  /// Packed, as `TraceBlock` reads them.
  public let blocks: [[UInt8]]
  /// Bytes at the end that are no whole block: what was under way when the file ended, or damaged.
  public let lostBytes: Int

  private static let magic = Array("ODOTRACE".utf8)
  private static let version: UInt8 = 1
  private static let headSize = magic.count + 1 + 16 + 4
  /// Bytes of a block at most.
  private static let mostBytes = 16 * 1024 * 1024

  /// Whether bytes begin as those of a file do, before they are packed.
  public static func isHead(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  /// The bytes that a file begins with.
  public static func bytes(_ head: Head) -> [UInt8] {
    var bytes = magic + [version]
    bytes.append(little: head.utcOffset)
    bytes.append(little: head.moment.nanoseconds)
    bytes.append(little: CRC32.checksum(bytes))
    return bytes
  }

  /// The bytes that a block adds.
  public static func bytes(block: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(little: UInt32(block.count))
    bytes.append(little: CRC32.checksum(block))
    return bytes + block
  }

  /// Reads what is whole; nil for what is no trace.
  public init?(bytes: [UInt8]) {
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

  /// All samples in order of time; those of a block that cannot be read are missing.
  public var samples: [TraceSample] {
    var samples: [TraceSample] = []
    for block in blocks { samples += TraceBlock(bytes: block)?.samples ?? [] }
    // `sort` keeps the order of equals.
    return samples.sorted { $0.timestamp < $1.timestamp }
  }
}
