/// Whether bytes that come one by one are UTF-8 (RFC 3629).
struct UTF8Check {
  /// Continuation bytes that are to come, and what the next of them may be.
  private var left: UInt8 = 0
  private var low: UInt8 = 0x80
  private var high: UInt8 = 0xBF

  /// Whether no character is half there.
  var isComplete: Bool { left == 0 }

  mutating func accepts(_ byte: UInt8) -> Bool {
    if left > 0 {
      guard byte >= low, byte <= high else { return false }
      (left, low, high) = (left - 1, 0x80, 0xBF)
      return true
    }
    switch byte {
    case 0..<0x80: return true
    case 0xC2...0xDF: left = 1
    case 0xE0: (left, low) = (2, 0xA0)
    case 0xED: (left, high) = (2, 0x9F)
    case 0xE1...0xEF: left = 2
    case 0xF0: (left, low) = (3, 0x90)
    case 0xF1...0xF3: left = 3
    case 0xF4: (left, high) = (3, 0x8F)
    default: return false
    }
    return true
  }
}
