/// A PUBLISH in its most frequent form: a topic of printable ASCII, no properties, and a header in one piece.
/// All other PUBLISH packets, valid or not, are validated byte by byte.
struct PlainPublish {
  /// Number of bytes from the fixed header to the payload.
  let size: Int

  /// - Parameters:
  ///   - bytes: available bytes after the fixed header.
  ///   - length: number of bytes of the packet after the fixed header.
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

  /// Returns whether bytes are printable ASCII without `#` and `+`. Reads eight at a time; returns false for
  /// fewer.
  private static func isPlain(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> Bool {
    guard end - start >= 8 else { return false }
    var found: UInt64 = 0
    for index in stride(from: start, to: end, by: 8) {
      // The last eight bytes may overlap with the previous eight.
      let word = unsafe bytes.loadUnaligned(fromByteOffset: min(index, end - 8), as: UInt64.self)
      // The subtractions and the addition set the highest bit of a byte below 0x20, of `#`, `+` and 0x7F. A
      // borrow or carry may set it in the byte above as well; then the check byte by byte decides.
      found |= word | (word &- (ones &* 0x20)) | (word &+ ones)
      found |= ((word ^ (ones &* 0x23)) &- ones) | ((word ^ (ones &* 0x2B)) &- ones)
    }
    return found & (ones << 7) == 0
  }

  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
}
