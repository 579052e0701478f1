// `rounded()` is in libm, so this module links Glibc.
internal import Glibc

/// Locale-independent conversion between numbers and ASCII decimals. Common numbers need no intermediate
/// string.
package enum DecimalText {
  /// Parses a number like `-12.75`; nil for any other text, including exponents and empty text.
  ///
  /// Correctly rounded: digits of at most 53 bits and a power of ten that a double represents exactly need
  /// one division (W. Clinger, "How to read floating point numbers accurately", 1990). Longer numbers are
  /// parsed by the standard library.
  package static func plain(_ bytes: Span<UInt8>) -> Double? {
    guard bytes.count > 0 else { return nil }
    let isNegative = bytes[0] == UInt8(ascii: "-")
    var index = isNegative || bytes[0] == UInt8(ascii: "+") ? 1 : 0
    var digits: Int64 = 0
    var count = 0
    var decimals = -1
    var isShort = true
    while index < bytes.count {
      let byte = bytes[index]
      if byte &- 0x30 < 10 {
        if digits < 1 << 49 { digits = digits * 10 + Int64(byte - 0x30) } else { isShort = false }
        if decimals >= 0 { decimals += 1 }
        count += 1
      } else if byte == UInt8(ascii: "."), decimals < 0 {
        decimals = 0
      } else {
        return nil
      }
      index += 1
    }
    guard count > 0 else { return nil }
    guard isShort, decimals < powersOfTen.count else { return convert(bytes) }
    let magnitude = decimals <= 0 ? Double(digits) : Double(digits) / powersOfTen[decimals]
    return isNegative ? -magnitude : magnitude
  }

  /// Parses a finite number with or without an exponent; nil for any other text, including `nan`, `inf` and
  /// hexadecimal.
  package static func number(_ bytes: Span<UInt8>) -> Double? {
    if let number = plain(bytes) { return number }
    for index in bytes.indices {
      switch bytes[index] {
      case 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"),
        UInt8(ascii: "E"):
        continue
      default: return nil
      }
    }
    return convert(bytes)
  }

  /// Parses an unsigned integer of at most nine digits; nil for any other text.
  package static func integer(_ bytes: Span<UInt8>) -> Int? {
    guard bytes.count > 0, bytes.count <= 9 else { return nil }
    var value = 0
    for index in bytes.indices {
      let digit = bytes[index] &- 0x30
      guard digit < 10 else { return nil }
      value = value * 10 + Int(digit)
    }
    return value
  }

  private static func convert(_ bytes: Span<UInt8>) -> Double? {
    let text = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    return Double(text).flatMap { $0.isFinite ? $0 : nil }
  }

  /// The powers of ten that a double represents exactly.
  fileprivate static let powersOfTen: [Double] = (0...22).map { exponent in
    (0..<exponent).reduce(1) { value, _ in value * 10 }
  }
}

extension [UInt8] {
  package mutating func append(decimal number: some FixedWidthInteger) {
    if number < 0 { append(UInt8(ascii: "-")) }
    let start = count
    var rest = UInt64(number.magnitude)
    repeat {
      append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    self[start...].reverse()
  }

  /// Appends a number with at most `places` (0 to 9) decimals, never as -0; above 1e18 in its shortest form.
  /// Appends nothing and returns false for NaN and infinities.
  /// - Parameter isPadded: true to retain trailing zeros.
  @discardableResult
  package mutating func append(decimal number: Double, places: Int, isPadded: Bool = false) -> Bool {
    guard number.isFinite else { return false }
    let places = Swift.max(0, Swift.min(places, 9))
    let scaled = (abs(number) * DecimalText.powersOfTen[places]).rounded()
    guard scaled < 1e18 else {
      append(contentsOf: number.description.utf8)
      return true
    }
    var digits = UInt64(scaled)
    var decimals = places
    if number < 0, digits != 0 { append(UInt8(ascii: "-")) }
    while !isPadded, decimals > 0, digits % 10 == 0 {
      digits /= 10
      decimals -= 1
    }
    let start = count
    for _ in 0..<decimals {
      append(UInt8(ascii: "0") + UInt8(digits % 10))
      digits /= 10
    }
    if decimals > 0 { append(UInt8(ascii: ".")) }
    repeat {
      append(UInt8(ascii: "0") + UInt8(digits % 10))
      digits /= 10
    } while digits > 0
    self[start...].reverse()
    return true
  }
}
