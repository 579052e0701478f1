import Telemetry
import TestSupport
import Testing

@testable import FleetCore

@Suite struct JSONScanTests {
  @Test(arguments: [
    "{}", "[]", " [ ] ", "0", "-0", "-0.5e+10", "1E5", "\"\"", "\"\\u00e9\\n\\/\"", "true", "null",
    "[1,[2,{\"a\":[]}]]",
    "{\"a\":1,\"b\":{\"c\":null}}", "\"漢🚚\"", "\"a\u{200D}\u{A0}é\u{3000}\"", "{\"\":\"\"}", "[[[[]]]]", " 1",
  ])
  func accepts(text: String) { #expect(JSONScan(Array(text.utf8)) == .valid) }

  @Test(arguments: [
    "", " ", "{", "}", "[", "]", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:2}", "01",
    "-", "1.",
    ".5", "1e", "1e+", "+1", "tru", "truex", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u12\"", "\"a\nb\"", "1 2",
    "[1 2]",
    "{\"a\" 1}", "NaN", "'a'", "\u{FEFF}1", "[}", "{]",
  ])
  func refuses(text: String) { #expect(JSONScan(Array(text.utf8)) == .invalid) }

  @Test(arguments: [
    [0x22, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
    [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22],
    [0x22, 0xE2, 0x82, 0x22], [0x22, 0xC3], [0xFF],
  ])
  func refusesBrokenUTF8(bytes: [UInt8]) { #expect(JSONScan(bytes) == .invalid) }

  @Test(arguments: [
    "{\n\"a\": 1\r\n}", "[1,\n2]", "1\n", "\t1", "\"\u{7F}\"", "\"\u{9B}31m\"", "\"\u{202E}\"",
    "[\"漢\u{2066}\"]", "{\"\u{61C}\":1}", "\"\u{200E}\"", "\"\u{200F}\"", "\"\u{2028}\"", "\"\u{E0041}\"",
  ])
  func marksWhatALineCannotHold(text: String) { #expect(JSONScan(Array(text.utf8)) == .validAfterEscaping) }

  @Test func nestingHasABound() {
    func nested(_ depth: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(ascii: "["), count: depth)
        + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
    }
    #expect(JSONScan(nested(512)) == .valid)
    #expect(JSONScan(nested(600)) == .invalid)
    #expect(JSONScan([UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)) == .invalid)
  }

  /// Whatever a parser takes, the scan takes; what only the scan takes is what parsers have limits for.
  @Test func agreesWithAParser() {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SplitMix(seed: seed)
    let alphabet = Array(#"{}[]",:\u0e+-.1 2tfnruelas\#n\#u{9B}é🚚"#.utf8)
    let model = Array(#"{"a":[1,-2.5e3,"x\u00e9\n"],"b":{"c":null,"d":true},"é":false}"#.utf8)
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
      let scanned = JSONScan(bytes) != .invalid
      do {
        _ = try JSONValue(parsing: bytes)
        accepted += 1
        #expect(scanned, "\(String(decoding: bytes, as: UTF8.self))")
      } catch {
        // Lone surrogates and numbers beyond a double are the grammar's, and not the parser's.
        let excused = ["surrogate", "overflow", "too big", "Unicode"].contains {
          error.description.contains($0)
        }
        #expect(!scanned || excused, "\(String(decoding: bytes, as: UTF8.self)): \(error)")
      }
    }
    #expect(accepted > 1000)
  }
}
