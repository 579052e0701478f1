internal import CZlib

/// A failure to compress or decompress.
package struct CompressionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The operation, and zlib's status or the exceeded limit.
  package let description: String

  init(_ description: String) { self.description = description }
}

/// The zlib format (RFC 1950), which libraries of every language can decompress.
package enum Deflate {
  private static let chunk = 16 * 1024

  /// Compresses sections, each with a Huffman code of its own and without searching for repetitions. The
  /// bytes are noise apart from their frequencies, so that a search would make the result 10 % larger.
  /// - Throws: `CompressionError` if memory is exhausted.
  package static func huffman(_ sections: [[UInt8]]) throws(CompressionError) -> [UInt8] {
    var stream = unsafe z_stream()
    let start = unsafe deflateInit2_(
      &stream, 9, Z_DEFLATED, 15, 9, Z_HUFFMAN_ONLY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard start == Z_OK else { throw CompressionError("pack: zlib initialization failed (\(start))") }
    defer { _ = unsafe deflateEnd(&stream) }
    var packed: [UInt8] = []
    for section in sections where !section.isEmpty {
      try unsafe run(&stream, section, into: &packed, limit: .max) { unsafe deflate(&$0, Z_BLOCK) }
    }
    try unsafe run(&stream, [], into: &packed, limit: .max) { unsafe deflate(&$0, Z_FINISH) }
    return packed
  }

  /// Decompresses a complete zlib stream.
  /// - Parameter limit: the maximum size of the result in bytes. A crafted stream can expand a thousandfold.
  /// - Throws: `CompressionError` if the bytes are damaged, truncated or followed by others, or exceed the
  ///   limit.
  package static func unpacked(_ bytes: [UInt8], limit: Int) throws(CompressionError) -> [UInt8] {
    try unpacked(bytes, limit: limit, windowBits: 15)
  }

  static func unpacked(
    _ bytes: [UInt8], limit: Int, windowBits: Int32
  ) throws(CompressionError) -> [UInt8] {
    var stream = unsafe z_stream()
    let start = unsafe inflateInit2_(
      &stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard start == Z_OK else { throw CompressionError("unpack: zlib initialization failed (\(start))") }
    defer { _ = unsafe inflateEnd(&stream) }
    var result: [UInt8] = []
    try unsafe inflateAll(&stream, bytes, into: &result, limit: limit)
    return result
  }

  /// Decompresses as much as possible of bytes that may be damaged.
  /// - Parameter limit: the maximum size of the result in bytes.
  /// - Returns: the bytes before the damage, and true if the stream was complete.
  package static func readable(of bytes: [UInt8], limit: Int) -> (bytes: [UInt8], isWhole: Bool) {
    var stream = unsafe z_stream()
    guard unsafe inflateInit2_(&stream, 15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      return ([], false)
    }
    defer { _ = unsafe inflateEnd(&stream) }
    var result: [UInt8] = []
    do throws(CompressionError) {
      try unsafe inflateAll(&stream, bytes, into: &result, limit: limit)
      return (result, true)
    } catch {
      return (result, false)
    }
  }

  private static func inflateAll(
    _ stream: inout z_stream, _ bytes: [UInt8], into result: inout [UInt8], limit: Int
  ) throws(CompressionError) {
    var status = Z_OK
    try unsafe run(&stream, bytes, into: &result, limit: limit) {
      status = unsafe inflate(&$0, Z_NO_FLUSH)
      return status
    }
    guard status == Z_STREAM_END else { throw CompressionError("unpack: the bytes end early") }
    guard unsafe stream.avail_in == 0 else { throw CompressionError("unpack: trailing bytes after the end") }
  }

  /// Calls `step` until all input is consumed and no output is left.
  static func run(
    _ stream: inout z_stream, _ input: [UInt8], into output: inout [UInt8], limit: Int,
    _ step: (inout z_stream) -> Int32
  ) throws(CompressionError) {
    guard input.count <= Int(UInt32.max) else { throw CompressionError("more than 4 GB in one call") }
    var (input, room) = (input, [UInt8](repeating: 0, count: chunk))
    var failure: CompressionError?
    unsafe input.withUnsafeMutableBufferPointer { source in
      unsafe stream.next_in = source.baseAddress
      unsafe stream.avail_in = UInt32(source.count)
      while failure == nil {
        let status = unsafe room.withUnsafeMutableBufferPointer { target in
          unsafe stream.next_out = target.baseAddress
          unsafe stream.avail_out = UInt32(target.count)
          return unsafe step(&stream)
        }
        let count = chunk - Int(unsafe stream.avail_out)
        if output.count + count > limit { failure = CompressionError("unpack: more than \(limit) bytes") }
        output += room.prefix(count)
        if status == Z_STREAM_END { break }
        // zlib reports that it cannot progress: all input was consumed, and no output is left.
        if status == Z_BUF_ERROR { break }
        guard status == Z_OK else {
          failure = CompressionError("the bytes are damaged (zlib status \(status))")
          break
        }
        if unsafe stream.avail_in == 0, unsafe stream.avail_out > 0 { break }
      }
      unsafe (stream.next_in, stream.next_out) = (nil, nil)
    }
    if let failure { throw failure }
  }
}
