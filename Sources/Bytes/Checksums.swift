/// FNV-1a (G. Fowler, L. Noll, K.-P. Vo): the same in every process, unlike `Hasher`, and no protection against forgery.
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

/// CRC-32 as in IEEE 802.3, gzip and PNG: finds every burst of errors up to 32 bits, and a torn write with all but one
/// chance in four thousand million.
package enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }

  package static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ ($0 >> 8) }
  }
}
