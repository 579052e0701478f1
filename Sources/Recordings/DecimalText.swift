/// Decimal numbers in ASCII, without a locale and without a string in between.
enum DecimalText {
  /// Powers of ten that a double holds exactly.
  private static let powersOfTen: [Double] = (0...22).map { exponent in
    (0..<exponent).reduce(1) { value, _ in value * 10 }
  }

  /// A number like `-12.75`; nil for anything else, exponents and empty text included. Correctly rounded as
  /// long as the digits make an integer below 2^53.
  static func number(_ text: ArraySlice<UInt8>) -> Double? {
    var digits = text
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative || digits.first == UInt8(ascii: "+") { digits.removeFirst() }
    var mantissa: UInt64 = 0
    var decimals: Int?
    var count = 0
    for byte in digits {
      if byte == UInt8(ascii: "."), decimals == nil {
        decimals = 0
        continue
      }
      guard (48...57).contains(byte), count < 18 else { return nil }
      mantissa = mantissa * 10 + UInt64(byte - 48)
      count += 1
      if let places = decimals { decimals = places + 1 }
    }
    guard count > 0 else { return nil }
    let value = Double(mantissa) / powersOfTen[decimals ?? 0]
    return isNegative ? -value : value
  }

  /// An unsigned integer of at most nine digits; nil for anything else.
  static func integer(_ text: ArraySlice<UInt8>) -> Int? {
    guard !text.isEmpty, text.count <= 9 else { return nil }
    var value = 0
    for byte in text {
      guard (48...57).contains(byte) else { return nil }
      value = value * 10 + Int(byte - 48)
    }
    return value
  }

  /// A finite number in any usual notation, exponent included; nil for anything else, `nan` and `inf` included.
  static func scientific(_ text: ArraySlice<UInt8>) -> Double? {
    if let value = number(text) { return value }
    let allowed = text.allSatisfy { (48...57).contains($0) || "+-.eE".utf8.contains($0) }
    guard allowed, text.count <= 40, let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite
    else { return nil }
    return value
  }
}
