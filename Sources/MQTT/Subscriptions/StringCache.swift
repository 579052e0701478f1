internal import Glibc

/// Turns C strings that come again and again (topics, content types) into Swift strings without allocating
/// each time. Direct-mapped: a newcomer evicts whoever has its place.
struct StringCache {
  private var entries: [String?]

  /// - Parameter capacity: a power of two.
  init(capacity: Int = 4096) { entries = Array(repeating: nil, count: capacity) }

  mutating func string(_ pointer: UnsafePointer<CChar>) -> String {
    let count = unsafe strlen(pointer)
    let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: count)
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for index in 0..<count { hash = unsafe (hash ^ UInt64(bytes[index])) &* 0x100_0000_01b3 }
    let place = Int(truncatingIfNeeded: hash ^ (hash >> 32)) & (entries.count - 1)
    if let entry = entries[place], entry.utf8.count == count, unsafe Self.equal(entry, bytes) { return entry }
    let string = unsafe String(decoding: bytes, as: UTF8.self)
    entries[place] = string
    return string
  }

  private static func equal(_ entry: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
    var entry = entry
    return entry.withUTF8 { utf8 in
      guard let a = utf8.baseAddress, let b = bytes.baseAddress else { return true }
      return unsafe memcmp(a, b, bytes.count) == 0
    }
  }
}
