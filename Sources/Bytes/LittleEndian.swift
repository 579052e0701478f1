// Integers in files, the low byte first.

extension [UInt8] {
  package mutating func append<Number: FixedWidthInteger>(little number: Number) {
    for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: number >> Number(shift)))
    }
  }
}

extension FixedWidthInteger {
  /// - Precondition: the bytes reach so far.
  package init(little bytes: [UInt8], at offset: Int) {
    self = 0
    for index in 0..<(Self.bitWidth / 8) {
      self |= Self(truncatingIfNeeded: bytes[offset + index]) << Self(8 * index)
    }
  }
}
