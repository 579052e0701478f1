import MQTT
import Telemetry
import TestSupport
import Testing

@testable import FleetCore

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
    ("[1,2", #""[1,2""#), ("ü漢", #""ü漢""#), ("a\u{7F}\u{85}b", #""a\u007f\u0085b""#),
  ])
  func passesPayloadsOn(payload: String, written: String) throws {
    let text = line("t", Array(payload.utf8))
    #expect(text == #"{"topic":"t","qos":1,"retain":false,"payload":"# + written + "}\n")
    _ = try JSONValue(parsing: Array(text.utf8))
  }

  @Test func binaryIsBase64() {
    #expect(
      line("t", [0xFF, 0x00, 0x10]) == #"{"topic":"t","qos":1,"retain":false,"payload":{"base64":"/wAQ"}}"#
        + "\n")
  }

  @Test func isTheFormOfTheAgent() {
    let payload = Array(#"{"x":1}"#.utf8)
    let message = WireMessage(topic: "a/\"b\"\u{7}ü", payload: payload, qos: 0, retain: true)
    #expect(
      line(message.topic, payload, qos: 0, retain: true) == String(decoding: message.line, as: UTF8.self)
        + "\n")
  }

  /// Found by chance: a tab is white space to JSON, and moves the cursor of a terminal.
  @Test func aTabBetweenPartsIsABlank() {
    #expect(line("t", Array("\t[1,\t2]".utf8)).contains("\"payload\": [1, 2]}"))
  }

  /// Random bytes make one line each, which is JSON and holds nothing that a terminal acts upon.
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
