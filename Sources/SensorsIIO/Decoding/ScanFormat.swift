internal import CIIO

/// How one channel's value lies in a scan: the kernel's `scan_elements/*_type`, as in `le:s12/16>>4`.
package struct ScanFormat: Hashable, Sendable, CustomStringConvertible {
  package let isBigEndian: Bool
  package let isSigned: Bool
  /// Significant bits of one value, 1 ... `storageBits`.
  package let bits: Int
  /// Bits that one value occupies: 8, 16, ... 64.
  package let storageBits: Int
  /// How far the significant bits lie above bit 0.
  package let shift: Int
  /// How many values the channel holds in one scan, as the four of a quaternion; at least 1.
  package let repeatCount: Int

  /// Nil for a combination that the kernel cannot mean.
  package init?(
    isBigEndian: Bool, isSigned: Bool, bits: Int, storageBits: Int, shift: Int = 0, repeatCount: Int = 1
  ) {
    guard (8...64).contains(storageBits), storageBits.isMultiple(of: 8), (1...storageBits).contains(bits),
      (0...(storageBits - bits)).contains(shift), (1...256).contains(repeatCount)
    else { return nil }
    (self.isBigEndian, self.isSigned) = (isBigEndian, isSigned)
    (self.bits, self.storageBits, self.shift, self.repeatCount) = (bits, storageBits, shift, repeatCount)
  }

  /// From what libiio read of the kernel's description.
  init?(_ format: iio_data_format) {
    self.init(
      isBigEndian: format.is_be, isSigned: format.is_signed, bits: Int(format.bits),
      storageBits: Int(format.length), shift: Int(format.shift), repeatCount: max(1, Int(format.repeat)))
  }

  /// Bytes that one value occupies.
  package var storageBytes: Int { storageBits / 8 }

  /// Bytes that the channel occupies in a scan.
  package var byteCount: Int { storageBytes * repeatCount }

  /// The kernel's notation.
  package var description: String {
    let copies = repeatCount > 1 ? "X\(repeatCount)" : ""
    return "\(isBigEndian ? "be" : "le"):\(isSigned ? "s" : "u")\(bits)/\(storageBits)\(copies)>>\(shift)"
  }

  /// The value at `offset` bytes, sign-extended to 64 bits; an unsigned 64-bit value keeps its bits.
  ///
  /// - Parameter element: which of the `repeatCount` values.
  @inline(__always)
  package func bitPattern(in bytes: Span<UInt8>, at offset: Int, element: Int = 0) -> UInt64 {
    let start = offset + element * storageBytes
    var word: UInt64 = 0
    if isBigEndian {
      for index in 0..<storageBytes { word = word << 8 | UInt64(bytes[start + index]) }
    } else {
      for index in (0..<storageBytes).reversed() { word = word << 8 | UInt64(bytes[start + index]) }
    }
    let unused = UInt64(64 - bits)
    let leftAligned = (word >> UInt64(shift)) << unused
    return isSigned
      ? UInt64(bitPattern: Int64(bitPattern: leftAligned) >> Int64(unused)) : leftAligned >> unused
  }

  /// The value at `offset` bytes as a signed integer; unsigned values above `Int64.max` wrap.
  @inline(__always)
  package func integer(in bytes: Span<UInt8>, at offset: Int, element: Int = 0) -> Int64 {
    Int64(bitPattern: bitPattern(in: bytes, at: offset, element: element))
  }

  /// The value at `offset` bytes, exact up to 53 bits.
  @inline(__always)
  package func number(in bytes: Span<UInt8>, at offset: Int, element: Int = 0) -> Double {
    let pattern = bitPattern(in: bytes, at: offset, element: element)
    return isSigned ? Double(Int64(bitPattern: pattern)) : Double(pattern)
  }
}
