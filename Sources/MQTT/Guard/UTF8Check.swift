/// Validates text byte by byte: UTF-8 (RFC 3629) without the code points that libmosquitto rejects.
///
/// These are the code points that MQTT 5 forbids (zero, surrogates) or advises against (control characters,
/// non-characters; section 1.5.4). Each fault contains a replacement byte that removes it without changing
/// the length of the text.
struct UTF8Check {
  struct Fault: Equatable {
    /// The rejected code point; for surrogates the first of a block of 64; nil if the text is not UTF-8.
    var codePoint: UInt32?
    /// Replacement for the byte at which the fault is detected.
    var replacement: UInt8
  }

  /// Number of missing continuation bytes, and the range of the next one.
  private var left = 0
  private var low: UInt8 = 0x80
  private var high: UInt8 = 0xBF
  private var codePoint: UInt32 = 0

  /// Checks the next byte, as if earlier faults had been replaced.
  /// - Parameter following: number of bytes of the text after this one.
  mutating func fault(at byte: UInt8, following: Int) -> Fault? {
    left > 0 ? continuationFault(byte) : leadFault(byte, following)
  }

  private mutating func leadFault(_ byte: UInt8, _ following: Int) -> Fault? {
    switch byte {
    case 0x20..<0x7F: return nil
    case 0..<0x80: return Fault(codePoint: UInt32(byte), replacement: UInt8(ascii: "?"))
    case 0xC2...0xDF: left = 1
    case 0xE0: (left, low) = (2, 0xA0)
    case 0xE1...0xEF: left = 2
    case 0xF0: (left, low) = (3, 0x90)
    case 0xF1...0xF3: left = 3
    case 0xF4: (left, high) = (3, 0x8F)
    default: return Fault(codePoint: nil, replacement: UInt8(ascii: "?"))
    }
    guard left <= following else {
      (left, low, high) = (0, 0x80, 0xBF)
      return Fault(codePoint: nil, replacement: UInt8(ascii: "?"))
    }
    codePoint = UInt32(byte) & (0x3F >> UInt32(left))
    return nil
  }

  private mutating func continuationFault(_ byte: UInt8) -> Fault? {
    defer { (left, low, high) = (left - 1, 0x80, 0xBF) }
    guard byte >= low, byte <= high else {
      codePoint = codePoint << 6 | UInt32(low & 0x3F)
      return Fault(codePoint: nil, replacement: low)
    }
    codePoint = codePoint << 6 | UInt32(byte & 0x3F)
    switch codePoint {
    case 0x360...0x37F where left == 2:
      defer { codePoint = 0x340 }
      return Fault(codePoint: codePoint << 6, replacement: 0x80)
    case _ where left > 1: return nil
    case 0x80...0x9F: return Fault(codePoint: codePoint, replacement: byte | 0x20)
    case 0xFDD0...0xFDEF: return Fault(codePoint: codePoint, replacement: 0x80)
    case _ where codePoint & 0xFFFE == 0xFFFE: return Fault(codePoint: codePoint, replacement: 0xBD)
    default: return nil
    }
  }
}
