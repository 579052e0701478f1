/// Splits a DBC file into statements. A line end is white space; `//` starts a comment up to the end of the line.
///
/// A statement starts at its keyword. It ends with a semicolon, or in front of the next statement, so that a damaged statement
/// does not affect the next one.
struct DBCStatements {
  struct Statement {
    /// Tokens of the statement, starting with the keyword.
    var tokens: [DBCToken]
    /// Line of the keyword, from 1.
    var line: Int
  }

  private var lexer: DBCLexer
  /// Tokens that have been read ahead.
  private var ahead: [(token: DBCToken, line: Int)] = []

  /// Keywords that only start a statement.
  private static let outer: Set<String> = [
    "BA_", "BA_DEF_", "BA_DEF_DEF_", "BA_DEF_DEF_REL_", "BA_DEF_REL_", "BA_DEF_SGTYPE_", "BA_REL_",
    "BA_SGTYPE_",
    "BO_TX_BU_", "BS_", "CAT_", "CAT_DEF_", "CM_", "ENVVAR_DATA_", "EV_DATA_", "NS_", "NS_DESC_",
    "SG_MUL_VAL_",
    "SGTYPE_", "SGTYPE_VAL_", "SIG_GROUP_", "SIG_TYPE_REF_", "SIG_VALTYPE_", "SIGTYPE_VALTYPE_", "VAL_",
    "VAL_TABLE_",
    "VERSION",
  ]
  /// Keywords that start a statement, or name an object inside another one.
  private static let inner: Set<String> = [
    "BO_", "BU_", "BU_BO_REL_", "BU_EV_REL_", "BU_SG_REL_", "EV_", "SG_",
  ]
  /// Statements without a semicolon. Every keyword ends them.
  private static let unterminated: Set<String> = ["BO_", "BS_", "BU_", "NS_", "SG_", "VERSION"]

  init(_ bytes: [UInt8]) {
    lexer = DBCLexer(bytes)
  }

  /// Line of a text without a closing quotation mark; nil if every text is closed.
  var openText: Int? { lexer.openText }

  static func isKeyword(_ word: String) -> Bool { outer.contains(word) || inner.contains(word) }

  /// Returns the next statement; nil at the end of the file.
  mutating func next() -> Statement? {
    guard let first = removeFirst() else { return nil }
    var statement = Statement(tokens: [first.token], line: first.line)
    let endsAtKeyword = first.token.word.map(Self.unterminated.contains) ?? false
    while let token = token(0) {
      if let word = token.word, startsStatement(word, endsAtKeyword: endsAtKeyword) { break }
      _ = removeFirst()
      statement.tokens.append(token)
      if token.isMark(";") { break }
    }
    return statement
  }

  private mutating func startsStatement(_ word: String, endsAtKeyword: Bool) -> Bool {
    if Self.outer.contains(word) { return true }
    guard Self.inner.contains(word) else { return false }
    if endsAtKeyword { return true }
    switch word {
    case "BO_": return isWord(1) && isWord(2) && isColon(3)
    case "SG_": return isWord(1) && (isColon(2) || isWord(2) && isColon(3))
    case "EV_": return isWord(1) && isColon(2)
    case "BU_": return isColon(1)
    default: return false
    }
  }

  private mutating func isWord(_ index: Int) -> Bool { token(index)?.word != nil }

  private mutating func isColon(_ index: Int) -> Bool { token(index)?.isMark(":") ?? false }

  private mutating func token(_ index: Int) -> DBCToken? {
    while ahead.count <= index, let next = lexer.next() { ahead.append(next) }
    return index < ahead.count ? ahead[index].token : nil
  }

  private mutating func removeFirst() -> (token: DBCToken, line: Int)? {
    guard token(0) != nil else { return nil }
    return ahead.removeFirst()
  }
}

/// Splits the bytes of a DBC file into tokens.
struct DBCLexer {
  private let bytes: [UInt8]
  private var position: Int
  private var line = 1
  /// Line of a text without a closing quotation mark; nil if every text is closed.
  private(set) var openText: Int?

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  mutating func next() -> (token: DBCToken, line: Int)? {
    while position < bytes.count {
      let (byte, start) = (bytes[position], line)
      switch byte {
      case UInt8(ascii: "\n"):
        position += 1
        line += 1
      case 0...32: position += 1
      case UInt8(ascii: "/") where position + 1 < bytes.count && bytes[position + 1] == byte:
        position = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      case UInt8(ascii: "\""): return (.text(quoted()), start)
      case _ where Self.isWord(byte):
        let end = bytes[position...].firstIndex { !Self.isWord($0) } ?? bytes.count
        defer { position = end }
        return (.word(Self.text(bytes[position..<end])), start)
      default:
        position += 1
        return (.mark(byte), start)
      }
    }
    return nil
  }

  /// Returns whether a byte is a letter, a digit or another part of numbers; some tools write an infinite
  /// number as `-1.#INF`.
  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x30...0x39,
      UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "#"):
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

  /// Decodes text. Files are in UTF-8 or in Windows-1252, of which units need only the Latin-1 part.
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
  /// The text between two quotation marks.
  case text(String)
  case mark(UInt8)

  var word: String? { if case .word(let word) = self { word } else { nil } }
  var text: String? { if case .text(let text) = self { text } else { nil } }

  /// A decimal number in C's notation; nil if it is not finite.
  var number: Double? { word.flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil } }

  func isMark(_ character: Unicode.Scalar) -> Bool {
    self == .mark(UInt8(truncatingIfNeeded: character.value))
  }
}
