/// Tells whether bytes are JSON, without making anything of it: a reader that passes payloads on does not need their
/// values, and building them costs twenty times as much.
enum JSONScan: Hashable, Sendable {
  /// Not one JSON value by RFC 8259 in UTF-8, or nested deeper than `deepest`.
  case invalid
  /// JSON that can stand in a line of output as it is.
  case valid
  /// JSON with tabs or line breaks between its parts, or with characters in its strings that a terminal acts upon.
  case validAfterEscaping

  static let deepest = 512

  init(_ bytes: [UInt8]) {
    var scanner = Scanner()
    self = scanner.scan(bytes.span)
  }

  private struct Scanner {
    private var position = 0
    private var needsEscaping = false
    // One bit for each level: whether it is an object.
    private var levels: [Bool] = []

    mutating func scan(_ bytes: Span<UInt8>) -> JSONScan {
      skipSpace(bytes)
      guard value(bytes) else { return .invalid }
      while !levels.isEmpty {
        skipSpace(bytes)
        guard next(bytes) else { return .invalid }
      }
      skipSpace(bytes)
      guard position == bytes.count else { return .invalid }
      return needsEscaping ? .validAfterEscaping : .valid
    }

    /// After a value inside of a list: its end, or a comma and another value.
    private mutating func next(_ bytes: Span<UInt8>) -> Bool {
      guard position < bytes.count, let isObject = levels.last else { return false }
      let byte = bytes[position]
      position += 1
      if byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
        levels.removeLast()
        return true
      }
      guard byte == UInt8(ascii: ",") else { return false }
      skipSpace(bytes)
      return isObject ? member(bytes) : value(bytes)
    }

    private mutating func member(_ bytes: Span<UInt8>) -> Bool {
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return false }
      position += 1
      guard string(bytes) else { return false }
      skipSpace(bytes)
      guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return false }
      position += 1
      skipSpace(bytes)
      return value(bytes)
    }

    /// A value, or the opening of a list with its first value; a list that is empty is over at once.
    private mutating func value(_ bytes: Span<UInt8>) -> Bool {
      while true {
        guard position < bytes.count else { return false }
        let byte = bytes[position]
        switch byte {
        case UInt8(ascii: "\""):
          position += 1
          return string(bytes)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          let isObject = byte == UInt8(ascii: "{")
          position += 1
          skipSpace(bytes)
          guard position < bytes.count else { return false }
          if bytes[position] == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            position += 1
            return true
          }
          guard levels.count < JSONScan.deepest else { return false }
          levels.append(isObject)
          if !isObject { continue }
          guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return false }
          position += 1
          guard string(bytes) else { return false }
          skipSpace(bytes)
          guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return false }
          position += 1
          skipSpace(bytes)
        case UInt8(ascii: "t"): return word("true", bytes)
        case UInt8(ascii: "f"): return word("false", bytes)
        case UInt8(ascii: "n"): return word("null", bytes)
        default: return number(bytes)
        }
      }
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>) {
      while position < bytes.count {
        switch bytes[position] {
        case UInt8(ascii: " "): break
        case 0x09, 0x0A, 0x0D: needsEscaping = true
        default: return
        }
        position += 1
      }
    }

    private mutating func word(_ word: StaticString, _ bytes: Span<UInt8>) -> Bool {
      let length = word.utf8CodeUnitCount
      guard bytes.count - position >= length else { return false }
      for offset in 0..<length where unsafe bytes[position + offset] != word.utf8Start[offset] {
        return false
      }
      position += length
      return true
    }

    private mutating func number(_ bytes: Span<UInt8>) -> Bool {
      if position < bytes.count, bytes[position] == UInt8(ascii: "-") { position += 1 }
      let start = position
      guard digits(bytes) else { return false }
      if bytes[start] == UInt8(ascii: "0"), position - start > 1 { return false }
      if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
        position += 1
        guard digits(bytes) else { return false }
      }
      if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
        position += 1
        if position < bytes.count,
          bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
        {
          position += 1
        }
        guard digits(bytes) else { return false }
      }
      return true
    }

    private mutating func digits(_ bytes: Span<UInt8>) -> Bool {
      let start = position
      while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
      return position > start
    }

    /// The rest of a string whose opening quote was read.
    private mutating func string(_ bytes: Span<UInt8>) -> Bool {
      while position < bytes.count {
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""): return true
        case UInt8(ascii: "\\"): guard escape(bytes) else { return false }
        case 0..<0x20: return false
        case 0x7F: needsEscaping = true
        case 0x80...: guard multibyte(byte, bytes) else { return false }
        default: break
        }
      }
      return false
    }

    private mutating func escape(_ bytes: Span<UInt8>) -> Bool {
      guard position < bytes.count else { return false }
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
        UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
        return true
      case UInt8(ascii: "u"):
        guard bytes.count - position >= 4 else { return false }
        for offset in 0..<4 {
          let digit = bytes[position + offset]
          guard (0x30...0x39).contains(digit) || (0x61...0x66).contains(digit | 0x20) else { return false }
        }
        position += 4
        return true
      default: return false
      }
    }

    /// Well-formed UTF-8 (Unicode, table 3-7), after its first byte.
    private mutating func multibyte(_ lead: UInt8, _ bytes: Span<UInt8>) -> Bool {
      let (length, second): (Int, ClosedRange<UInt8>)
      switch lead {
      case 0xC2...0xDF: (length, second) = (1, 0x80...0xBF)
      case 0xE0: (length, second) = (2, 0xA0...0xBF)
      case 0xED: (length, second) = (2, 0x80...0x9F)
      case 0xE1...0xEF: (length, second) = (2, 0x80...0xBF)
      case 0xF0: (length, second) = (3, 0x90...0xBF)
      case 0xF1...0xF3: (length, second) = (3, 0x80...0xBF)
      case 0xF4: (length, second) = (3, 0x80...0x8F)
      default: return false
      }
      guard bytes.count - position >= length, second.contains(bytes[position]) else { return false }
      for offset in 1..<max(1, length) where bytes[position + offset] & 0xC0 != 0x80 { return false }
      // U+0080 to U+009F are control characters too.
      if lead == 0xC2, bytes[position] < 0xA0 { needsEscaping = true }
      position += length
      return true
    }
  }
}
