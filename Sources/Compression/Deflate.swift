internal import CZlib

/// What is wrong with packed bytes, or with packing them.
package struct CompressionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was done, and zlib's word or the limit.
  package let description: String

  init(_ description: String) { self.description = description }
}

/// Bytes in zlib's format (RFC 1950), which every language's library unpacks.
package enum Deflate {
  private static let chunk = 16 * 1024

  /// Packs sections one after the other, each by a Huffman code of its own and nothing else: for bytes that are noise but for how often
  /// each comes, looking for repetitions costs a tenth more.
  /// - Throws: `CompressionError` where there is no memory for it.
  package static func huffman(_ sections: [[UInt8]]) throws(CompressionError) -> [UInt8] {
    var stream = unsafe z_stream()
    let start = unsafe deflateInit2_(
      &stream, 9, Z_DEFLATED, 15, 9, Z_HUFFMAN_ONLY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard start == Z_OK else { throw CompressionError("pack: zlib does not start (\(start))") }
    defer { _ = unsafe deflateEnd(&stream) }
    var packed: [UInt8] = []
    for section in sections where !section.isEmpty {
      try unsafe run(&stream, section, into: &packed, limit: .max) { unsafe deflate(&$0, Z_BLOCK) }
    }
    try unsafe run(&stream, [], into: &packed, limit: .max) { unsafe deflate(&$0, Z_FINISH) }
    return packed
  }

  /// Unpacks what is in zlib's format as a whole.
  /// - Parameter limit: bytes at most: a few can be made to unpack to a thousand times as many.
  /// - Throws: `CompressionError` for bytes that are damaged, end early, go on, or unpack to more.
  package static func unpacked(_ bytes: [UInt8], limit: Int) throws(CompressionError) -> [UInt8] {
    try unpacked(bytes, limit: limit, windowBits: 15)
  }

  static func unpacked(
    _ bytes: [UInt8], limit: Int, windowBits: Int32
  ) throws(CompressionError) -> [UInt8] {
    var stream = unsafe z_stream()
    let start = unsafe inflateInit2_(
      &stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard start == Z_OK else { throw CompressionError("unpack: zlib does not start (\(start))") }
    defer { _ = unsafe inflateEnd(&stream) }
    var result: [UInt8] = []
    try unsafe inflateAll(&stream, bytes, into: &result, limit: limit)
    return result
  }

  /// Unpacks what can be of bytes that may be damaged.
  /// - Parameter limit: bytes at most.
  /// - Returns: what came before the damage, and whether that was all.
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
    guard unsafe stream.avail_in == 0 else { throw CompressionError("unpack: bytes follow the end") }
  }

  /// Calls `step` until it has taken the input and gives nothing more.
  static func run(
    _ stream: inout z_stream, _ input: [UInt8], into output: inout [UInt8], limit: Int,
    _ step: (inout z_stream) -> Int32
  ) throws(CompressionError) {
    guard input.count <= Int(UInt32.max) else { throw CompressionError("more than 4 GB at once") }
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
        // There was nothing left to do.
        if status == Z_BUF_ERROR { break }
        guard status == Z_OK else {
          failure = CompressionError("the bytes are damaged (zlib says \(status))")
          break
        }
        if unsafe stream.avail_in == 0, unsafe stream.avail_out > 0 { break }
      }
      unsafe (stream.next_in, stream.next_out) = (nil, nil)
    }
    if let failure { throw failure }
  }
}
