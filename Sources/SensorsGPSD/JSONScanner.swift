/// Walks over one JSON object (RFC 8259) and notes its outline. It keeps no values: those are libgps's to read.
struct JSONScanner {
  private static let deepestNesting = 8

  /// The first member's name and, when it is a string, its value.
  private(set) var firstMember: String?
  private(set) var firstString: String?
  private(set) var members: Set<String> = []
  private(set) var elements: [Range<Int>] = []

  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  /// Scans the whole line: one object, nothing but blanks after it.
  mutating func scanLine() throws(GPSDLine.Fault) {
    try scanObject(depth: 0)
    skipBlanks()
    if position < bytes.endIndex { throw fault }
  }

  private var fault: GPSDLine.Fault { .malformed(at: position - bytes.startIndex) }

  private var current: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

  private mutating func skipBlanks() {
    while let byte = current, byte == 32 || byte == 9 || byte == 13 { position += 1 }
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(GPSDLine.Fault) {
    guard current == UInt8(ascii: character) else { throw fault }
    position += 1
  }

  private mutating func accept(_ character: Unicode.Scalar) -> Bool {
    guard current == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func scanObject(depth: Int) throws(GPSDLine.Fault) {
    guard depth < Self.deepestNesting else { throw fault }
    skipBlanks()
    try expect("{")
    skipBlanks()
    if accept("}") { return }
    repeat {
      skipBlanks()
      let name = try scanString()
      skipBlanks()
      try expect(":")
      skipBlanks()
      let start = position
      try scanValue(depth: depth)
      if depth == 0 {
        if firstMember == nil {
          firstMember = name
          if bytes[start] == UInt8(ascii: "\"") { firstString = text(start + 1..<position - 1) }
        }
        members.insert(name)
      }
      skipBlanks()
    } while accept(",")
    try expect("}")
  }

  private mutating func scanValue(depth: Int) throws(GPSDLine.Fault) {
    switch current {
    case UInt8(ascii: "{"): try scanObject(depth: depth + 1)
    case UInt8(ascii: "["): try scanArray(depth: depth)
    case UInt8(ascii: "\""): _ = try scanString()
    default: try scanToken()
    }
  }

  private mutating func scanArray(depth: Int) throws(GPSDLine.Fault) {
    guard depth + 1 < Self.deepestNesting else { throw fault }
    try expect("[")
    skipBlanks()
    if accept("]") { return }
    repeat {
      skipBlanks()
      let start = position
      try scanValue(depth: depth + 1)
      if depth == 0, bytes[start] == UInt8(ascii: "{") { elements.append(start..<position) }
      skipBlanks()
    } while accept(",")
    try expect("]")
  }

  private mutating func scanString() throws(GPSDLine.Fault) -> String {
    try expect("\"")
    let start = position
    while let byte = current, byte != UInt8(ascii: "\"") {
      guard byte >= 32 else { throw fault }
      if byte == UInt8(ascii: "\\") {
        position += 1
        guard let escaped = current, "\"\\/bfnrtu".utf8.contains(escaped) else { throw fault }
        // Four hexadecimal digits must follow; libgps steps over them without looking for the end.
        if escaped == UInt8(ascii: "u") {
          let digits = bytes[(position + 1)...].prefix(4)
          guard digits.count == 4, digits.allSatisfy(Self.isHexDigit) else { throw fault }
          position += 4
        }
      }
      position += 1
    }
    defer { position += 1 }
    guard current != nil else { throw fault }
    return text(start..<position)
  }

  /// A number, or `true`, `false`, `null`.
  private mutating func scanToken() throws(GPSDLine.Fault) {
    let start = position
    while let byte = current, Self.isTokenCharacter(byte) { position += 1 }
    let token = text(start..<position)
    guard ["true", "false", "null"].contains(token) || Self.isNumber(token) else {
      position = start
      throw fault
    }
  }

  /// A decimal number short enough for libgps, which computes long exponents with overflowing integers and then
  /// reads beyond its table of powers.
  private static func isNumber(_ token: String) -> Bool {
    guard token.utf8.count <= 40,
      token.utf8.allSatisfy({ (48...57).contains($0) || "+-.eE".utf8.contains($0) })
    else { return false }
    let exponent = token.utf8.drop { $0 | 32 != UInt8(ascii: "e") }
    return exponent.count <= 5 && Double(token)?.isFinite == true
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (65...70).contains(byte) || (97...102).contains(byte)
  }

  private static func isTokenCharacter(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (97...122).contains(byte) || "+-.E".utf8.contains(byte)
  }
}
