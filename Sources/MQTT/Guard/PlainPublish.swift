/// A PUBLISH as nearly all are: with a topic of ASCII and without properties, and all of that in one piece. It is recognised
/// at a glance; whatever is not so, good or bad, is left to the check byte by byte.
struct PlainPublish {
  /// Bytes from the fixed header to the payload.
  let size: Int

  /// - Parameters:
  ///   - bytes: what there is from the end of the fixed header on.
  ///   - length: bytes of the packet behind the fixed header.
  init?(_ bytes: UnsafeRawBufferPointer, length: Int, quality: UInt8, version311: Bool) {
    guard bytes.count > 2 else { return nil }
    let topic = unsafe Int(bytes[0]) << 8 | Int(bytes[1])
    let identifier = quality > 0 ? 2 : 0
    let size = 2 + topic + identifier + (version311 ? 0 : 1)
    guard size <= bytes.count, size <= length, unsafe Self.isPlain(bytes, 2, 2 + topic) else { return nil }
    if identifier > 0, unsafe bytes[2 + topic] | bytes[3 + topic] == 0 { return nil }
    if !version311, unsafe bytes[size - 1] != 0 { return nil }
    self.size = size
  }

  /// Whether bytes are characters of ASCII, and neither zero nor `#` nor `+`. Eight are looked at together; fewer are left to others.
  private static func isPlain(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> Bool {
    guard end - start >= 8 else { return false }
    var found: UInt64 = 0
    for index in stride(from: start, to: end, by: 8) {
      // The last eight may have been looked at in part.
      let word = unsafe bytes.loadUnaligned(fromByteOffset: min(index, end - 8), as: UInt64.self)
      // The highest bit of a byte comes up where the byte was zero; in some above it too, which are looked at more closely then.
      found |= word | (word &- ones) | ((word ^ (ones &* 0x23)) &- ones) | ((word ^ (ones &* 0x2B)) &- ones)
    }
    return found & (ones << 7) == 0
  }

  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
}
