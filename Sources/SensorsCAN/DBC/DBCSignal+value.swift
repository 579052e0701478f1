extension DBCSignal {
  /// The value of a signal, before factor and offset.
  public struct RawValue: Hashable, Sendable {
    /// The signal's bits, as an unsigned integer.
    public var bits: UInt64
    /// The number that the bits represent as an unsigned, signed or floating point number.
    public var number: Double
    /// The number as an integer; nil for floating point, and if it does not fit into 64 bits with sign.
    public var integer: Int64?

    /// The number as a multiplexor value; nil if it is negative or not whole.
    var selector: UInt64? {
      if let integer { return UInt64(exactly: integer) }
      return Double(bits) == number ? bits : UInt64(exactly: number)
    }
  }

  /// Returns the value of this signal in a frame's data, even if the frame contains other multiplexed
  /// signals; nil if the data is too short.
  public func rawValue(in data: [UInt8]) -> RawValue? {
    guard let bits = bits(in: data) else { return nil }
    switch format {
    case .unsigned:
      return RawValue(bits: bits, number: Double(bits), integer: Int64(exactly: bits))
    case .signed:
      let shift = UInt64(64 - length)
      let number = Int64(bitPattern: bits << shift) >> Int64(shift)
      return RawValue(bits: bits, number: Double(number), integer: number)
    case .float:
      let number =
        length == 32
        ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
      return RawValue(bits: bits, number: number)
    }
  }

  /// Returns the value in the file's unit.
  public func physical(_ raw: RawValue) -> Double { raw.number * factor + offset }

  private func bits(in data: [UInt8]) -> UInt64? {
    guard (1...64).contains(length), (0..<8 * data.count).contains(start) else { return nil }
    var value: UInt64 = 0
    switch byteOrder {
    case .little:
      guard start + length <= 8 * data.count else { return nil }
      for offset in 0..<length {
        let bit = start + offset
        value |= UInt64(data[bit >> 3] >> UInt8(bit & 7) & 1) << UInt64(offset)
      }
    case .big:
      var (byte, bit) = (start >> 3, start & 7)
      for _ in 0..<length {
        guard byte < data.count else { return nil }
        value = value << 1 | UInt64(data[byte] >> UInt8(bit) & 1)
        (byte, bit) = bit == 0 ? (byte + 1, 7) : (byte, bit - 1)
      }
    }
    return value
  }

  /// Minimum number of bytes of a frame with this signal.
  var neededBytes: Int {
    switch byteOrder {
    case .little: return (start + length + 7) / 8
    case .big:
      // The signal occupies the bits of its first byte from `start` downwards, and continues in the following
      // bytes.
      let rest = length - (start % 8 + 1)
      return start / 8 + 1 + (rest > 0 ? (rest + 7) / 8 : 0)
    }
  }
}
