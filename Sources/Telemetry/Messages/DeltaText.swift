/// Encodes integers as text, as in Google's encoded polyline format: the differences between consecutive
/// integers are zigzag-encoded, with five bits per character.
///
/// A small difference requires one character. Of the characters used (`?` to `~`), JSON must escape only the
/// backslash.
struct DeltaEncoder {
  private(set) var text: [UInt8] = []
  private var last: Int64 = 0

  /// Appends a number, encoded as its difference from the previous number.
  mutating func append(_ number: Int64) {
    append(difference: number &- last)
    last = number
  }

  /// Appends a difference calculated by the caller.
  mutating func append(difference: Int64) {
    var rest = UInt64(bitPattern: (difference << 1) ^ (difference >> 63))
    while rest >= 0x20 {
      text.append(UInt8(rest & 0x1F) + 0x20 + 63)
      rest >>= 5
    }
    text.append(UInt8(rest) + 63)
  }
}

/// Decodes the differences that `DeltaEncoder` has encoded.
struct DeltaDecoder {
  private var rest: Substring.UTF8View.SubSequence

  init(_ text: String) { rest = text[...].utf8 }

  var isAtEnd: Bool { rest.isEmpty }

  /// Returns the next difference. Nil if the text ends within a difference, or contains an invalid character
  /// or a difference of more than 64 bits.
  mutating func difference() -> Int64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = rest.popFirst(), (63...126).contains(byte), shift < 64 {
      let bits = UInt64(byte - 63)
      value |= (bits & 0x1F) << shift
      if bits < 0x20 { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
      shift += 5
    }
    return nil
  }
}
