import CJansson
import JSON
import TestSupport
import Testing

@Suite struct JSONScanTests {
  private func scan(_ text: String) -> JSONScan { JSONScan(Array(text.utf8).span) }

  @Test(arguments: [
    "{}", "[]", " [ ] ", "0", "-0", "-0.5e+10", "1E5", "\"\"", "\"\\u00e9\\n\\/\"", "true", "null",
    "[1,[2,{\"a\":[]}]]",
    "{\"a\":1,\"b\":{\"c\":null}}", "\"漢🚚\"", "\"a\u{200D}\u{A0}é\u{3000}\"", "{\"\":\"\"}", "[[[[]]]]", " 1",
  ])
  func accepts(text: String) { #expect(scan(text) == .valid) }

  @Test(arguments: [
    "", " ", "{", "}", "[", "]", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:2}", "01",
    "-", "1.",
    ".5", "1e", "1e+", "+1", "tru", "truex", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u12\"", "\"a\nb\"", "1 2",
    "[1 2]",
    "{\"a\" 1}", "NaN", "'a'", "\u{FEFF}1", "[}", "{]",
  ])
  func refuses(text: String) { #expect(!scan(text).isValid) }

  @Test(arguments: [
    [0x22, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
    [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22],
    [0x22, 0xE2, 0x82, 0x22], [0x22, 0xC3], [0xFF],
  ])
  func refusesBrokenUTF8(bytes: [UInt8]) { #expect(!JSONScan(bytes.span).isValid) }

  @Test(arguments: [
    "{\n\"a\": 1\r\n}", "[1,\n2]", "1\n", "\t1", "\"\u{7F}\"", "\"\u{9B}31m\"", "\"\u{202E}\"",
    "[\"漢\u{2066}\"]", "{\"\u{61C}\":1}", "\"\u{200E}\"", "\"\u{200F}\"", "\"\u{2028}\"", "\"\u{E0041}\"",
  ])
  func marksCharactersThatNeedEscapesInALine(text: String) { #expect(scan(text) == .validAfterEscaping) }

  /// Tests all characters that can control a terminal.
  @Test func marksAllInvisibleCharacters() {
    var count = 0
    for value in UInt32(0x7F)...0x10_FFFF {
      guard let scalar = Unicode.Scalar(value), scalar.isUnseen else { continue }
      count += 1
      #expect(scan("[\"é\(scalar)漢\"]") == .validAfterEscaping, "\(String(value, radix: 16))")
    }
    #expect(count > 150)
  }

  @Test func nestingIsBounded() {
    func nested(_ depth: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(ascii: "["), count: depth)
        + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
    }
    #expect(JSONScan(nested(512).span) == .valid)
    #expect(!JSONScan(nested(600).span).isValid)
    #expect(!JSONScan([UInt8](repeating: UInt8(ascii: "["), count: 1_000_000).span).isValid)
  }

  /// Table: events in their order, with the bytes that they cover.
  @Test func reportsEventsInTheirOrder() {
    struct Log: JSONVisitor {
      var lines: [String] = []
      mutating func visit(name: Range<Int>, hasEscapes: Bool, depth: Int, of bytes: Span<UInt8>) -> Bool {
        lines.append("\(depth) name \(bytes.text(name, hasEscapes: hasEscapes))")
        return true
      }
      mutating func visit(_ scalar: JSONScalar, _ range: Range<Int>, depth: Int, of bytes: Span<UInt8>)
        -> Bool
      {
        lines.append("\(depth) \(scalar) \(bytes.text(range, hasEscapes: false))")
        return lines.last != "1 number 9"
      }
      mutating func open(isObject: Bool, at offset: Int, depth: Int, of bytes: Span<UInt8>) -> Bool {
        lines.append("\(depth) \(isObject ? "{" : "[") \(offset)")
        return true
      }
      mutating func close(at offset: Int, depth: Int) -> Bool {
        lines.append("\(depth) close \(offset)")
        return true
      }
    }
    var log = Log()
    let text = #"{"a": [1, {}], "\u00e9":true, "s":"x\n"}"#
    #expect(JSONScan(Array(text.utf8).span, &log) == .valid)
    #expect(
      log.lines == [
        "0 { 0", "1 name a", "1 [ 6", "2 number 1", "2 { 10", "2 close 11", "1 close 12", "1 name é",
        "1 true true",
        "1 name s", #"1 string(hasEscapes: true) "x\n""#, "0 close \(text.utf8.count - 1)",
      ])
    log = Log()
    #expect(JSONScan(Array("[1,9,nonsense".utf8).span, &log) == .stopped)
  }

  @Test func reportsTheOffsetOfTheError() {
    for (text, offset) in [
      ("", 0), ("[1,]", 3), ("{\"a\" 1}", 5), ("[1 2]", 3), ("\"ab\u{1}\"", 3), ("[01]", 2), ("nul", 0),
    ] {
      #expect(scan(text) == .invalid(at: offset), "\(text)")
    }
  }

  /// Property: the scan, the value built by it, and an independent parser (jansson) accept the same texts and read the same values,
  /// except for the limits of that parser: integers beyond 64 bits, and zeros in names.
  @Test func agreesWithAnotherParser() throws {
    var generator = SplitMix.announced()
    let alphabet = Array(#"{}[]",:\u0e+-.1 2tfnruelasdD8C\#n\#u{9B}é🚚"#.utf8)
    let model = Array(#"{"a":[1,-2.5e3,"x\u00e9\n"],"b":{"c":null,"d":true},"é\ud83d\ude9a":false}"#.utf8)
    var accepted = 0
    for round in 0..<20_000 {
      var bytes = round.isMultiple(of: 2) ? model : []
      for _ in 0..<Int.random(in: 0...5, using: &generator) {
        let byte = alphabet.randomElement(using: &generator) ?? 0
        let place = Int.random(in: 0...bytes.count, using: &generator)
        if place < bytes.count, Bool.random(using: &generator) {
          bytes[place] = byte
        } else {
          bytes.insert(byte, at: place)
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      let value = try? JSONValue(parsing: bytes)
      switch Jansson.parse(bytes) {
      case .value(let other):
        accepted += 1
        #expect(value == other, "\(text)")
        #expect(JSONScan(bytes.span).isValid, "\(text)")
      case .refused(let reason):
        // The grammar has no largest number.
        let isLarge = reason.contains("overflow") || reason.contains("too big")
        #expect(
          (value == nil && !JSONScan(bytes.span).isValid) || isLarge || reason.contains("NUL"),
          "\(text): \(reason)")
      }
    }
    #expect(accepted > 1000)
  }

  /// Property: a value that is written and read is the same, including escapes.
  @Test func writtenValuesAreReadUnchanged() throws {
    var generator = SplitMix.announced()
    func value(_ depth: Int) -> JSONValue {
      switch Int.random(in: 0...(depth > 3 ? 4 : 6), using: &generator) {
      case 0: return .null
      case 1: return .bool(.random(using: &generator))
      case 2: return .integer(.random(in: .min ... .max, using: &generator))
      case 3: return .number(.random(in: -1e300...1e300, using: &generator))
      case 4:
        let scalars = (0..<Int.random(in: 0...9, using: &generator)).compactMap { _ in
          Unicode.Scalar(
            UInt32.random(in: 0...(Bool.random(using: &generator) ? 0x7F : 0x10_FFFF), using: &generator))
        }
        return .string(String(String.UnicodeScalarView(scalars)))
      case 5: return .array((0..<Int.random(in: 0...4, using: &generator)).map { _ in value(depth + 1) })
      default:
        return .object(
          Dictionary(
            uniqueKeysWithValues: (0..<Int.random(in: 0...4, using: &generator)).map {
              ("\($0)\n", value(depth + 1))
            }))
      }
    }
    for _ in 0..<2000 {
      let original = value(0)
      let text = Array(original.text.utf8)
      #expect(try JSONValue(parsing: text) == original)
      #expect(JSONScan(text.span) == .valid)
      // As a line: written text needs no escapes, and remains unchanged.
      var line: [UInt8] = []
      line.appendJSON(line: text.span)
      #expect(line == text)
    }
  }
}
