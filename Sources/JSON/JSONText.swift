internal import Bytes

extension UInt8 {
  /// True for a byte that needs no escape in a JSON string and is harmless on a terminal.
  @inlinable package var isPlainInJSON: Bool {
    self >= 0x20 && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
  }

  fileprivate var hexValue: UInt16? {
    switch self {
    case 0x30...0x39: UInt16(self - 0x30)
    case 0x41...0x46, 0x61...0x66: UInt16((self | 0x20) - 0x57)
    default: nil
    }
  }
}

/// A UTF-8 character outside ASCII.
@usableFromInline struct UTF8Scalar {
  @usableFromInline let length: Int
  private var value: UInt32

  /// Decodes a character; nil if the bytes are not well-formed (Unicode, table 3-7).
  @usableFromInline init?(at position: Int, _ bytes: Span<UInt8>) {
    let lead = bytes[position]
    let second: ClosedRange<UInt8>
    switch lead {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return nil
    }
    guard bytes.count - position >= length, second.contains(bytes[position + 1]) else { return nil }
    for offset in 2..<max(2, length) where bytes[position + offset] & 0xC0 != 0x80 { return nil }
    value = UInt32(lead) & (0x7F >> UInt32(length))
    for offset in 1..<length { value = value << 6 | UInt32(bytes[position + offset] & 0x3F) }
  }

  var scalar: Unicode.Scalar { Unicode.Scalar(value) ?? "\u{FFFD}" }

  @usableFromInline var isUnseen: Bool { scalar.isUnseen }
}

/// A JSON escape sequence.
@usableFromInline enum JSONEscape {
  /// Returns the end of an escape sequence; nil if it is invalid. A surrogate pair counts as one sequence; a
  /// single surrogate is invalid.
  @usableFromInline static func end(at position: Int, _ bytes: Span<UInt8>) -> Int? {
    guard position + 1 < bytes.count else { return nil }
    switch bytes[position + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return position + 2
    case UInt8(ascii: "u"):
      guard let unit = unit(at: position, bytes) else { return nil }
      guard UTF16.isSurrogate(unit) else { return position + 6 }
      guard UTF16.isLeadSurrogate(unit), let trail = self.unit(at: position + 6, bytes),
        UTF16.isTrailSurrogate(trail)
      else { return nil }
      return position + 12
    default: return nil
    }
  }

  /// Returns the code unit of `\uXXXX`; nil for any other bytes.
  private static func unit(at position: Int, _ bytes: Span<UInt8>) -> UInt16? {
    guard position + 6 <= bytes.count, bytes[position] == UInt8(ascii: "\\"),
      bytes[position + 1] == UInt8(ascii: "u")
    else { return nil }
    var unit: UInt16 = 0
    for offset in 2..<6 {
      guard let digit = bytes[position + offset].hexValue else { return nil }
      unit = unit << 4 | digit
    }
    return unit
  }

  /// Returns the character of a valid escape sequence.
  fileprivate static func scalar(at position: Int, _ bytes: Span<UInt8>) -> Unicode.Scalar {
    switch bytes[position + 1] {
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = UInt32(unit(at: position, bytes) ?? 0)
      guard unit >> 11 == 0x1B else { return Unicode.Scalar(unit) ?? "\u{FFFD}" }
      let trail = UInt32(self.unit(at: position + 6, bytes) ?? 0)
      return Unicode.Scalar(0x1_0000 + (unit & 0x3FF) << 10 + trail & 0x3FF) ?? "\u{FFFD}"
    case let byte: return Unicode.Scalar(byte)
    }
  }
}

/// Decoding of scanned, valid values.
extension Span where Element == UInt8 {
  @inlinable package func equals(_ range: Range<Int>, _ text: StaticString) -> Bool {
    guard range.count == text.utf8CodeUnitCount else { return false }
    for offset in 0..<range.count where unsafe self[range.lowerBound + offset] != text.utf8Start[offset] {
      return false
    }
    return true
  }

  /// Returns the end of the plain characters, tested eight at a time: a word has a byte less than n where
  /// (word - n·0x01…) has borrowed (S. E. Anderson, "Bit twiddling hacks").
  @inlinable func plainEnd(from position: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var index = position
    while index &+ 8 <= count {
      let word = unsafe self.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self)
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      let delete = word ^ (ones &* 0x7F)
      let found = word | (word &- (ones &* 0x20)) | (quote &- ones) | (backslash &- ones) | (delete &- ones)
      let marks = found & highs
      if marks != 0 { return index &+ marks.trailingZeroBitCount >> 3 }
      index &+= 8
    }
    return index
  }

  /// Decodes a name, or a string's content without its quotes.
  package func text(_ range: Range<Int>, hasEscapes: Bool) -> String {
    let part = extracting(range)
    guard hasEscapes else {
      return unsafe part.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
    var utf8: [UInt8] = []
    utf8.reserveCapacity(range.count)
    var index = 0
    while index < part.count {
      if part[index] == UInt8(ascii: "\\") {
        utf8.append(contentsOf: JSONEscape.scalar(at: index, part).utf8)
        index = JSONEscape.end(at: index, part) ?? part.count
      } else {
        utf8.append(part[index])
        index += 1
      }
    }
    return String(decoding: utf8, as: UTF8.self)
  }

  /// Decodes a string, given with its quotes; nil for any other value.
  package func jsonString(_ range: Range<Int>) -> String? {
    guard self[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
    let inner = range.lowerBound + 1..<range.upperBound - 1
    var hasEscapes = false
    for index in inner where self[index] == UInt8(ascii: "\\") { hasEscapes = true }
    return text(inner, hasEscapes: hasEscapes)
  }

  /// Decodes a finite number; nil for any other value.
  package func jsonNumber(_ range: Range<Int>) -> Double? { DecimalText.number(extracting(range)) }

  /// Decodes a number without sign, fraction and exponent that fits in a signed integer; nil for any other
  /// value.
  package func jsonNatural(_ range: Range<Int>) -> Int64? {
    guard range.count <= 19 else { return nil }
    var number: Int64 = 0
    for index in range {
      guard (0x30...0x39).contains(self[index]) else { return nil }
      let (tens, isLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = tens.addingReportingOverflow(Int64(self[index] - 0x30))
      guard !isLarge, !isLarger else { return nil }
      number = sum
    }
    return number
  }
}

extension [UInt8] {
  /// Appends a text as a JSON string. Escapes terminal control characters.
  package mutating func appendJSON(quoting text: String) {
    append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in unsafe appendEscaped(utf8.span, isText: true) }
    append(UInt8(ascii: "\""))
  }

  /// Appends valid JSON as part of a line. Replaces tabs and line breaks by spaces, and escapes terminal
  /// control characters in strings.
  package mutating func appendJSON(line json: Span<UInt8>) { appendEscaped(json, isText: false) }

  private mutating func appendEscaped(_ utf8: Span<UInt8>, isText: Bool) {
    var index = 0
    while index < utf8.count {
      // Most text needs no escape and is copied in one piece.
      var end = utf8.plainEnd(from: index)
      while end < utf8.count, utf8[end].isPlainInJSON { end += 1 }
      unsafe utf8.extracting(index..<end).withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
      guard end < utf8.count else { return }
      let byte = utf8[end]
      index = end + 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        if isText { append(UInt8(ascii: "\\")) }
        append(byte)
      case 0x09, 0x0A, 0x0D:
        if isText { appendEscape(UInt16(byte)) } else { append(UInt8(ascii: " ")) }
      case 0..<0x80: appendEscape(UInt16(byte))
      default:
        guard let character = UTF8Scalar(at: end, utf8) else { continue }
        index = end + character.length
        if character.isUnseen {
          for unit in character.scalar.utf16 { appendEscape(unit) }
        } else {
          for place in end..<index { append(utf8[place]) }
        }
      }
    }
  }

  private mutating func appendEscape(_ unit: UInt16) {
    append(contentsOf: "\\u".utf8)
    for shift in stride(from: 12, through: 0, by: -4) {
      let digit = UInt8(unit >> UInt16(shift) & 15)
      append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }
}

extension Unicode.Scalar {
  /// True for characters that are invisible or act on the display: control characters, bidirectional
  /// formatting (Unicode Standard Annex #9), line separators, and format characters. Untrusted text that is
  /// printed raw on a terminal must not contain any.
  ///
  /// The joiners U+200C and U+200D are excluded: words of some languages and many emoji contain them.
  package var isUnseen: Bool {
    // The most frequent characters come first.
    if value < 0xAD { return value < 0x20 || (0x7F...0x9F).contains(value) }
    if (0x2070..<0xFEFF).contains(value) { return false }
    switch value {
    case 0xAD, 0x61C, 0x180E, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x2064, 0x2066...0x206F,
      0xFEFF, 0xFFF9...0xFFFB, 0x1BCA0...0x1BCA3, 0x1D173...0x1D17A, 0xE0001, 0xE0020...0xE007F:
      return true
    default: return false
    }
  }
}
