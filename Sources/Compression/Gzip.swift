internal import CZlib

/// Bytes in gzip's format (RFC 1952), which every browser and command line unpacks.
package enum Gzip {
  /// Packs all at once.
  /// - Parameter level: 1 is fast, 9 small.
  /// - Throws: `CompressionError` where there is no memory for it.
  package static func packed(_ bytes: [UInt8], level: Int) throws(CompressionError) -> [UInt8] {
    let packer = try GzipPacker(level: level)
    return try packer.pack(bytes, .end)
  }

  /// Unpacks one member as a whole.
  /// - Parameter limit: bytes at most: a few can be made to unpack to a thousand times as many.
  /// - Throws: `CompressionError` for bytes that are damaged, end early, go on, or unpack to more.
  package static func unpacked(_ bytes: [UInt8], limit: Int) throws(CompressionError) -> [UInt8] {
    try Deflate.unpacked(bytes, limit: limit, windowBits: 15 + 16)
  }

  /// What a member begins with whose blocks are made by `GzipPacker(blocksAt:)`.
  package static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

  /// What ends such a member: an empty last block, and what was in all blocks.
  package static func trailer(_ sum: GzipSum) -> [UInt8] {
    var bytes: [UInt8] = [3, 0]
    for shift in stride(from: UInt32(0), to: 32, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: sum.crc >> shift))
    }
    let length = UInt32(truncatingIfNeeded: sum.length)
    for shift in stride(from: UInt32(0), to: 32, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: length >> shift))
    }
    return bytes
  }
}

/// The check and the length of what was packed: those of parts make up that of the whole.
package struct GzipSum: Hashable, Sendable {
  package private(set) var crc: UInt32 = 0
  package private(set) var length = 0

  /// Of nothing.
  package init() {}

  package init(of bytes: [UInt8]) {
    crc = UInt32(truncatingIfNeeded: unsafe crc32_z(0, bytes, bytes.count))
    length = bytes.count
  }

  /// Takes in what follows.
  package mutating func append(_ next: GzipSum) {
    crc = UInt32(truncatingIfNeeded: crc32_combine(UInt(crc), UInt(next.crc), next.length))
    length += next.length
  }
}

/// Packs a stream piece by piece. One thread at a time.
// Safe: the stream is made and ended with this, and nobody else has its address.
@safe package final class GzipPacker {
  /// What is to come of what was packed so far.
  package enum Flush: Sendable {
    /// As much as there is: more follows.
    case none
    /// All of it, so that a reader can go on with it.
    case sync
    /// All of it; what follows refers to nothing before it.
    case independent
    /// All of it, and no more follows.
    case end

    fileprivate var code: Int32 {
      switch self {
      case .none: Z_NO_FLUSH
      case .sync: Z_SYNC_FLUSH
      case .independent: Z_FULL_FLUSH
      case .end: Z_FINISH
      }
    }
  }

  // zlib keeps the address.
  private let stream: UnsafeMutablePointer<z_stream>

  /// Packs a whole gzip member.
  package convenience init(level: Int) throws(CompressionError) { try self.init(level, windowBits: 15 + 16) }

  /// Packs bare blocks. Those that are packed as independent can stand in any member, in any order, behind `Gzip.header`.
  package convenience init(blocksAt level: Int) throws(CompressionError) {
    try self.init(level, windowBits: -15)
  }

  private init(_ level: Int, windowBits: Int32) throws(CompressionError) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let start = unsafe deflateInit2_(
      stream, Int32(max(1, min(9, level))), Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard start == Z_OK else { throw CompressionError("pack: zlib does not start (\(start))") }
  }

  deinit {
    _ = unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// - Returns: what is ready to be sent, which may be nothing.
  /// - Throws: `CompressionError` after the end.
  package func pack(_ bytes: [UInt8], _ flush: Flush) throws(CompressionError) -> [UInt8] {
    var packed: [UInt8] = []
    try unsafe Deflate.run(&stream.pointee, bytes, into: &packed, limit: .max) {
      unsafe deflate(&$0, flush.code)
    }
    return packed
  }
}
