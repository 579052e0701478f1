import FleetTerminal
import JSON
import MQTT
import Telemetry
import TestSupport
import Testing

@Suite struct MessageLinesTests {
  private func line(_ topic: String, _ payload: [UInt8], qos: UInt8 = 1, retain: Bool = false) -> String {
    var lines = MessageLines()
    lines.append(topic: topic, qos: qos, retain: retain, payload: payload)
    return String(decoding: lines.bytes, as: UTF8.self)
  }

  @Test(arguments: [
    (#"{"a": 1}"#, #"{"a": 1}"#), ("1.50", "1.50"), ("on", #""on""#), ("", #""""#),
    ("{\n\"a\":\n1}", #"{ "a": 1}"#),
    ("say \"hi\"\\", #""say \"hi\"\\""#), ("\u{1B}[2J", #""\u001b[2J""#),
    ("{\"n\":\"\u{9B}x\"}", #"{"n":"\u009bx"}"#),
    ("{\"a\u{202E}\":\"\u{2066}漢\u{200F}\u{2028}\u{FEFF}\"}", #"{"a\u202e":"\u2066漢\u200f\u2028\ufeff"}"#),
    ("\u{61C}\u{E0041}🚚é", #""\u061c\udb40\udc41🚚é""#),
    ("[1,2", #""[1,2""#), ("ü漢", #""ü漢""#), ("a\u{7F}\u{85}b", #""a\u007f\u0085b""#),
  ])
  func passesPayloadsOn(payload: String, written: String) throws {
    let text = line("t", Array(payload.utf8))
    #expect(text == #"{"topic":"t","qos":1,"retain":false,"payload":"# + written + "}\n")
    // The parsed value is the same.
    let line = try JSONValue(parsing: Array(text.utf8))
    let parsed = try? JSONValue(parsing: Array(payload.utf8))
    #expect(line["payload"] == parsed ?? .string(payload))
  }

  /// Text of any characters is unchanged, within JSON and without, and contains no characters that control a terminal.
  @Test func everyTextIsUnchanged() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SplitMix(seed: seed)
    let ranges: [ClosedRange<UInt32>] = [
      0...0xFF, 0x600...0x620, 0x2000...0x2070, 0xFEF0...0xFFFF, 0...0x10_FFFF,
    ]
    for _ in 0..<2000 {
      var text = ""
      for _ in 0..<Int.random(in: 0...12, using: &generator) {
        let range = ranges.randomElement(using: &generator) ?? 0...0xFF
        if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &generator)) {
          text.unicodeScalars.append(scalar)
        }
      }
      // JSON with unescaped characters, as far as JSON allows them.
      let inner = text.unicodeScalars.filter { $0.value >= 0x20 && $0 != "\"" && $0 != "\\" }
      let json = "{\"x\":\"" + String(String.UnicodeScalarView(inner)) + "\"}"
      let cases: [(String, String?)] = [
        (json, String(String.UnicodeScalarView(inner))), ("no JSON " + text, nil),
      ]
      for (payload, value) in cases {
        let line = line("t", Array(payload.utf8))
        #expect(!line.dropLast().unicodeScalars.contains { $0.isUnseen })
        let read = try JSONValue(parsing: Array(line.utf8))["payload"]
        #expect(read?["x"]?.string == value && (value != nil || read?.string == payload))
      }
    }
  }

  @Test func binaryIsBase64() {
    #expect(
      line("t", [0xFF, 0x00, 0x10]) == #"{"topic":"t","qos":1,"retain":false,"payload":{"base64":"/wAQ"}}"#
        + "\n")
  }

  @Test func isTheFormOfTheAgent() {
    let payload = Array(#"{"x":1}"#.utf8)
    let message = Publication(topic: "a/\"b\"\u{7}ü", payload: payload, lane: nil, retain: true)
    #expect(
      line(message.topic, payload, qos: 0, retain: true) == String(
        decoding: message.line(identity: nil), as: UTF8.self)
        + "\n")
  }

  /// Found in a random test: a tab is white space in JSON, but moves the cursor of a terminal.
  @Test func aTabBetweenTokensIsASpace() {
    #expect(line("t", Array("\t[1,\t2]".utf8)).contains("\"payload\": [1, 2]}"))
  }

  /// Random bytes result in one line each, which is JSON without characters that control a terminal.
  @Test func randomMessagesMakeCleanLines() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SplitMix(seed: seed)
    for _ in 0..<3000 {
      let payload = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
        UInt8.random(in: 0...(Bool.random(using: &generator) ? 127 : 255), using: &generator)
      }
      let topic = String(decoding: payload.reversed(), as: UTF8.self)
      let text = line(topic, payload)
      #expect(text.utf8.count { $0 == 0x0A } == 1 && text.hasSuffix("\n"))
      #expect(
        text.dropLast().unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) })
      #expect(try JSONValue(parsing: Array(text.utf8))["topic"]?.string == topic)
    }
  }
}
