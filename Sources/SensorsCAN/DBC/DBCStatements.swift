/// The statements of a DBC file: its lines, where a text in quotation marks may go over several.
struct DBCLines {
  struct Statement {
    var tokens: [DBCToken]
    /// Of its beginning, from 1.
    var line: Int
    /// Whether it begins at the margin, as sections do and what belongs to them does not.
    var isAtMargin: Bool
  }

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  /// Of a text that never ended; nil while there is none.
  private(set) var openText: Int?

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The next statement that has a token; nil at the end.
  mutating func next() -> Statement? {
    while position < bytes.count {
      let (start, first) = (line, bytes[position])
      let tokens = tokensOfLine()
      if !tokens.isEmpty {
        return Statement(
          tokens: tokens, line: start,
          isAtMargin: first != UInt8(ascii: " ") && first != UInt8(ascii: "\t"))
      }
    }
    return nil
  }

  private mutating func tokensOfLine() -> [DBCToken] {
    var tokens: [DBCToken] = []
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\n"):
        position += 1
        line += 1
        return tokens
      case 0...32: position += 1
      case UInt8(ascii: "\""): tokens.append(.text(quoted()))
      case _ where Self.isWord(byte):
        let start = position
        while position < bytes.count, Self.isWord(bytes[position]) { position += 1 }
        tokens.append(.word(Self.text(bytes[start..<position])))
      default:
        tokens.append(.mark(byte))
        position += 1
      }
    }
    return tokens
  }

  /// Letters, digits and what numbers are made of.
  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x30...0x39,
      UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"):
      true
    default: byte >= 0x80
    }
  }

  private mutating func quoted() -> String {
    let begin = line
    position += 1
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        defer { position += 1 }
        return Self.text(bytes[start..<position])
      case UInt8(ascii: "\\") where position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "\""):
        position += 2
      case UInt8(ascii: "\n"):
        line += 1
        position += 1
      default: position += 1
      }
    }
    openText = openText ?? begin
    return ""
  }

  /// Files are in UTF-8 or in Windows-1252, of which Latin-1 is what units need.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var text = ""
    for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
  }
}

/// A part of a statement.
enum DBCToken: Hashable {
  case word(String)
  /// What stands in quotation marks.
  case text(String)
  case mark(UInt8)

  var word: String? { if case .word(let word) = self { word } else { nil } }
  var text: String? { if case .text(let text) = self { text } else { nil } }

  /// Decimal, as C writes it; nil for what is not finite.
  var number: Double? { word.flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil } }

  func isMark(_ character: Unicode.Scalar) -> Bool {
    self == .mark(UInt8(truncatingIfNeeded: character.value))
  }
}
