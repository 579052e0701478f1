import JSON
import Testing

@Suite struct UnseenScalarTests {
  /// Compares all characters with Unicode's categories.
  @Test func areThoseOfUnicode() {
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

  /// Escaped text has the same value when it is parsed, and cannot control a terminal.
  @Test func areEscapedInJSON() throws {
    let text = "a\u{202E}b\u{2066}\u{9B}\u{61C}\u{E0041}é漢\u{200D}\"\n"
    var writer = JSONWriter()
    writer.value(text)
    let written = String(decoding: writer.bytes, as: UTF8.self)
    #expect(written == #""a\u202eb\u2066\u009b\u061c\udb40\udc41é漢"# + "\u{200D}" + #"\"\u000a""#)
    #expect(try JSONValue(parsing: writer.bytes).string == text)
  }
}
