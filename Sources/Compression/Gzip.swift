internal import CZlib

/// The gzip format (RFC 1952), which every browser and shell can decompress.
package enum Gzip {
  /// Compresses bytes into one member.
  /// - Parameter level: from 1 (fast) to 9 (small).
  /// - Throws: `CompressionError` if memory is exhausted.
  package static func packed(_ bytes: [UInt8], level: Int) throws(CompressionError) -> [UInt8] {
    let packer = try GzipPacker(level: level)
    return try packer.pack(bytes, .end)
  }

  /// Decompresses one complete member.
  /// - Parameter limit: the maximum size of the result in bytes. A crafted stream can expand a thousandfold.
  /// - Throws: `CompressionError` if the bytes are damaged, truncated or followed by others, or exceed the
  ///   limit.
  package static func unpacked(_ bytes: [UInt8], limit: Int) throws(CompressionError) -> [UInt8] {
    try Deflate.unpacked(bytes, limit: limit, windowBits: 15 + 16)
  }

  /// The header of a member that is assembled from blocks of `GzipPacker(blocksAt:)`.
  package static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

  /// Returns the trailer of a member that is assembled from blocks: an empty final block, and the checksum
  /// and length of all blocks.
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

/// The CRC-32 and the length of uncompressed bytes. The sums of parts can be combined into that of the whole.
package struct GzipSum: Hashable, Sendable {
  package private(set) var crc: UInt32 = 0
  package private(set) var length = 0

  /// Creates the sum of no bytes.
  package init() {}

  package init(of bytes: [UInt8]) {
    crc = UInt32(truncatingIfNeeded: unsafe crc32_z(0, bytes, bytes.count))
    length = bytes.count
  }

  /// Appends the sum of the bytes that follow.
  package mutating func append(_ next: GzipSum) {
    crc = UInt32(truncatingIfNeeded: crc32_combine(UInt(crc), UInt(next.crc), next.length))
    length += next.length
  }
}

/// A streaming compressor, for use by one thread at a time.
// Safe: the zlib stream has the same lifetime as this object, and its address does not escape.
@safe package final class GzipPacker {
  /// The state of the output after a call.
  package enum Flush: Sendable {
    /// Only the bytes that are ready; more input follows.
    case none
    /// Every pending byte, so that a reader can decompress everything so far.
    case sync
    /// Every pending byte; later output has no references to earlier input.
    case independent
    /// Every pending byte and the end of the stream.
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

  // Allocated separately, because zlib stores its address.
  private let stream: UnsafeMutablePointer<z_stream>

  /// Creates a compressor for a complete gzip member.
  package convenience init(level: Int) throws(CompressionError) { try self.init(level, windowBits: 15 + 16) }

  /// Creates a compressor for bare blocks. Blocks that are flushed as independent can be combined in any
  /// order after `Gzip.header`.
  package convenience init(blocksAt level: Int) throws(CompressionError) {
    try self.init(level, windowBits: -15)
  }

  private init(_ level: Int, windowBits: Int32) throws(CompressionError) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let start = unsafe deflateInit2_(
      stream, Int32(max(1, min(9, level))), Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard start == Z_OK else { throw CompressionError("pack: zlib initialization failed (\(start))") }
  }

  deinit {
    _ = unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Compresses the next bytes.
  ///
  /// - Returns: the output that is ready, possibly empty.
  /// - Throws: `CompressionError` after the end of the stream.
  package func pack(_ bytes: [UInt8], _ flush: Flush) throws(CompressionError) -> [UInt8] {
    var packed: [UInt8] = []
    try unsafe Deflate.run(&stream.pointee, bytes, into: &packed, limit: .max) {
      unsafe deflate(&$0, flush.code)
    }
    return packed
  }
}
