import JSON
import Testing

@Suite struct UnseenScalarTests {
  /// Of all characters there are: those that Unicode's tables call so.
  @Test func areThoseOfTheTables() {
    var wrong: [String] = []
    for value in UInt32(0)...0x10_FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let properties = scalar.properties
      let isWanted: Bool
      switch properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: isWanted = true
      case .format:
        isWanted =
          properties.isDefaultIgnorableCodePoint && !properties.isJoinControl
          || (0xFFF9...0xFFFB).contains(value)
      default: isWanted = false
      }
      if scalar.isUnseen != isWanted || properties.isBidiControl && !scalar.isUnseen {
        wrong.append(String(value, radix: 16))
      }
    }
    #expect(wrong.isEmpty, "\(wrong.prefix(20))")
  }

  /// Escapes are the same text to whoever reads it, and nothing to a terminal.
  @Test func areEscapedInJSON() throws {
    let text = "a\u{202E}b\u{2066}\u{9B}\u{61C}\u{E0041}é漢\u{200D}\"\n"
    var writer = JSONWriter()
    writer.value(text)
    let written = String(decoding: writer.bytes, as: UTF8.self)
    #expect(written == #""a\u202eb\u2066\u009b\u061c\udb40\udc41é漢"# + "\u{200D}" + #"\"\u000a""#)
    #expect(try JSONValue(parsing: writer.bytes).string == text)
  }
}
