/// CRC-32 as in IEEE 802.3, gzip and PNG: finds every burst of errors up to 32 bits, and a torn write with all but one
/// chance in four thousand million.
enum Checksum {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }

  static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ ($0 >> 8) }
  }
}
