internal import Telemetry

/// What is shown the members of an outermost object as a scan passes them.
protocol JSONMemberVisitor {
  /// - Parameters:
  ///   - key: where the name stands between its quotes, which has no escapes.
  ///   - value: where the value stands, quotes included; of a list or an object its first byte.
  mutating func visit(_ key: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>)
}

/// Tells whether bytes are JSON, without making anything of it: a reader that passes payloads on does not need their
/// values, and one that wants a few of them can look at those while they pass; building them all costs twenty times as
/// much.
enum JSONScan: Hashable, Sendable {
  /// Not one JSON value by RFC 8259 in UTF-8, or nested deeper than `deepest`.
  case invalid
  /// JSON that can stand in a line of output as it is.
  case valid
  /// JSON with tabs or line breaks between its parts, or with characters in its strings that a terminal acts upon.
  case validAfterEscaping

  static let deepest = 512

  init(_ bytes: [UInt8]) {
    var scanner = Scanner(NoVisitor())
    self = scanner.scan(bytes.span)
  }

  /// - Parameter visitor: what it was shown holds only if the outcome is not `invalid`.
  init<Visitor: JSONMemberVisitor>(_ bytes: [UInt8], _ visitor: inout Visitor) {
    var scanner = Scanner(visitor)
    self = scanner.scan(bytes.span)
    visitor = scanner.visitor
  }

  private struct NoVisitor: JSONMemberVisitor {
    func visit(_ key: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {}
  }

  private struct Scanner<Visitor: JSONMemberVisitor> {
    private(set) var visitor: Visitor
    private var position = 0
    private var needsEscaping = false
    private var hasEscape = false
    private var levels = Levels()

    init(_ visitor: Visitor) { self.visitor = visitor }

    mutating func scan(_ bytes: Span<UInt8>) -> JSONScan {
      skipSpace(bytes)
      guard value(bytes) else { return .invalid }
      while levels.count > 0 {
        skipSpace(bytes)
        guard next(bytes) else { return .invalid }
      }
      skipSpace(bytes)
      guard position == bytes.count else { return .invalid }
      return needsEscaping ? .validAfterEscaping : .valid
    }

    /// After a value inside of a list: its end, or a comma and another value.
    private mutating func next(_ bytes: Span<UInt8>) -> Bool {
      guard position < bytes.count, levels.count > 0 else { return false }
      let isObject = levels.isLastObject
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
      guard let name = name(bytes) else { return false }
      let isOutermost = levels.count == 1
      let start = position
      guard value(bytes) else { return false }
      guard isOutermost, !name.isEmpty else { return true }
      let isList = bytes[start] == UInt8(ascii: "{") || bytes[start] == UInt8(ascii: "[")
      visitor.visit(name, start..<(isList ? start + 1 : position), of: bytes)
      return true
    }

    /// A member's name and what is before its value; empty when the name has escapes, nil when it is none.
    private mutating func name(_ bytes: Span<UInt8>) -> Range<Int>? {
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
      position += 1
      let start = position
      hasEscape = false
      guard string(bytes) else { return nil }
      let name = hasEscape ? start..<start : start..<position - 1
      skipSpace(bytes)
      guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return nil }
      position += 1
      skipSpace(bytes)
      return name
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
          levels.append(isObject: isObject)
          if !isObject { continue }
          if levels.count == 1 { return member(bytes) }
          guard name(bytes) != nil else { return false }
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
      var index = position
      while index < bytes.count, (0x30...0x39).contains(bytes[index]) { index += 1 }
      defer { position = index }
      return index > position
    }

    /// The rest of a string whose opening quote was read.
    private mutating func string(_ bytes: Span<UInt8>) -> Bool {
      while position < bytes.count {
        // In a variable of its own, which stays in a register: most bytes of a payload pass here.
        var index = position
        while index < bytes.count, Self.isPlain(bytes[index]) { index += 1 }
        guard index < bytes.count else { return false }
        let byte = bytes[index]
        position = index + 1
        switch byte {
        case UInt8(ascii: "\""): return true
        case UInt8(ascii: "\\"):
          hasEscape = true
          guard escape(bytes) else { return false }
        case 0..<0x20: return false
        case 0x7F: needsEscaping = true
        default: guard multibyte(byte, bytes) else { return false }
        }
      }
      return false
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
      byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
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
      // Control characters are not only those of ASCII.
      if !needsEscaping {
        var value = UInt32(lead) & (0x3F >> UInt32(length))
        for offset in 0..<length { value = value << 6 | UInt32(bytes[position + offset] & 0x3F) }
        needsEscaping = Unicode.Scalar(value)?.isUnseen ?? false
      }
      position += length
      return true
    }
  }

  /// Which of the lists that are open are objects, a bit each: an array would be allocated for every payload.
  private struct Levels {
    private(set) var count = 0
    private var bits = InlineArray<8, UInt64>(repeating: 0)

    var isLastObject: Bool { bits[(count - 1) >> 6] >> UInt64((count - 1) & 63) & 1 == 1 }

    /// - Precondition: there are fewer than `deepest`.
    mutating func append(isObject: Bool) {
      let bit: UInt64 = 1 << UInt64(count & 63)
      if isObject { bits[count >> 6] |= bit } else { bits[count >> 6] &= ~bit }
      count += 1
    }

    mutating func removeLast() { count -= 1 }
  }
}
