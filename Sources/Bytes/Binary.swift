/// The FNV-1a hash (G. Fowler, L. Noll, K.-P. Vo). Unlike `Hasher` it is the same in every process. It does
/// not protect against forgery.
package enum FNV1a {
  @inlinable package static func hash64(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  @inlinable package static func hash64(_ bytes: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for index in bytes.indices { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01b3 }
    return hash
  }

  @inlinable package static func hash32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    bytes.reduce(0x811c_9dc5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }
}

/// CRC-32 as in IEEE 802.3, gzip and PNG. Detects every error burst of up to 32 bits; a torn write is
/// undetected with a probability of one in four billion.
package enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }

  package static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ ($0 >> 8) }
  }
}

// Little-endian integers in files.

extension [UInt8] {
  package mutating func append<Number: FixedWidthInteger>(little number: Number) {
    for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: number >> Number(shift)))
    }
  }
}

extension FixedWidthInteger {
  /// Decodes an integer.
  ///
  /// - Precondition: `offset` plus the size of the integer is within the bytes.
  package init(little bytes: [UInt8], at offset: Int) {
    self = 0
    for index in 0..<(Self.bitWidth / 8) {
      self |= Self(truncatingIfNeeded: bytes[offset + index]) << Self(8 * index)
    }
  }
}
