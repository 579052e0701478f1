import Fleet
import FleetFixtures
import JSON
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

@Suite struct PayloadFieldsTests {
  private func fields(_ text: String) -> PayloadFields { PayloadFields(Array(text.utf8)) }

  @Test func readsTheNativeProfile() {
    let read = fields(
      #"{"time":"2026-11-21T12:00:00.125Z","latitude":-48.12345678,"longitude":11.5,"altitude":520.25,"#
        + #""horizontalAccuracy":2.5,"speed":13.375,"course":359.9,"event":"enter","epoch":"a1b2","seq":17}"#)
    #expect(read.time == noon.advanced(bySeconds: 0.125))
    #expect(read.latitude == -48.12345678 && read.longitude == 11.5)
    #expect(read.altitude == 520.25 && read.accuracy == 2.5 && read.speed == 13.375 && read.course == 359.9)
    #expect(read.event == "enter" && read.epoch == "a1b2" && read.seq == 17)
  }

  @Test func readsOwnTracks() {
    let read = fields(
      #"{"_type":"location","lat":48,"lon":11.25,"tst":1795262400,"acc":5,"vel":36,"cog":90,"alt":500}"#)
    #expect(read.time == noon && read.latitude == 48 && read.longitude == 11.25 && read.accuracy == 5)
    #expect(read.speed == 10 && read.course == 90 && read.altitude == 500)
  }

  /// A suspect position can also be coarse.
  @Test(arguments: [
    (#""suspect":"jump""#, "suspect"), (#""positionSource":"coarse""#, "coarse"), (#""suspect":null"#, nil),
    (#""suspect":"beacons","positionSource":"coarse""#, "suspect"),
    (#""positionSource":"coarse","suspect":"other""#, "suspect"), (#""positionSource":"gnss""#, nil),
  ])
  func readsTheKindOfAPosition(_ members: String, _ event: String?) {
    #expect(fields(#"{"latitude":48,"longitude":11,\#(members)}"#).event == event)
  }

  @Test(arguments: [
    "", "x", "[1]", "{", "{}", "null", #"{"seq":1"#, #"{"epoch":"e"}"#, #"{"seq":5}"#,
    #"{"epoch":5,"seq":5}"#,
    #"{"epoch":"","seq":1}"#, #"{"epoch":"a\u0000b","seq":1}"#, #"{"epoch":"e","seq":-1}"#,
    #"{"epoch":"e","seq":1.0}"#, #"{"epoch":"e","seq":99999999999999999999}"#,
    #"{"latitude":91,"longitude":1}"#,
    #"{"latitude":"48","longitude":1}"#, #"{"latitude":1e999,"longitude":1}"#, #"{"latitude":1}"#,
    #"{"in":{"epoch":"e","seq":1,"latitude":1,"longitude":2}}"#, #"{"in":["}",{"seq":1}],"epoch":"e"}"#,
    #"{"epoch":"e","seq":1,"seq":null}"#, #"{"epoch":"e","seq":1,"seq":{"a":1}}"#,
    #"{"epoch":"e","seq":1,"seq":[]}"#, #"{"time":"yesterday"}"#, #"{"time":"2026-13-21T12:00:00.125Z"}"#,
  ])
  func ignoresInvalidFields(_ text: String) {
    var read = fields(text)
    read.isJSON = true
    #expect(read == fields("{}"))
  }

  @Test(arguments: [
    ("{}", true), (" {\"a\":1}\n", true), ("{\"a\":\u{0}1}", false), ("{\"a\":1", false), ("x", false),
  ])
  func detectsJSON(_ text: String, _ isJSON: Bool) { #expect(fields(text).isJSON == isJSON) }

  @Test func acceptsEscapesSpaceAndNesting() {
    let read = fields(
      " {\n \"a\\\"}\" : [ \"]\\\\\" , { \"epoch\" : \"no\" } ] , \"\\u0065poch\":\"no\", \"epoch\" :\t\"\\u0065\\n\" ,"
        + "\"seq\": 7 , \"speed\": 1.5e1, \"course\":-0 }\r\n")
    #expect(read.epoch == "e\n" && read.seq == 7 && read.speed == 15 && read.course == 0)
  }

  /// The values equal those of a full parse.
  @Test func agreesWithAFullParse() throws {
    var random = SplitMix.announced()
    for _ in 0..<3000 {
      let number = Double.random(in: -200...200, using: &random)
      let digits = Int.random(in: 0...17, using: &random)
      let written = Self.text(number, digits)
      let text = #"{"altitude":\#(written),"x":{"altitude":3},"course":\#(written)}"#
      let full = try JSONValue(parsing: Array(text.utf8))["altitude"]?.double
      let read = fields(text)
      #expect(read.altitude == full, "\(text)")
      #expect(read.course == full.flatMap { (0...360).contains($0) ? $0 : nil }, "\(text)")
    }
  }

  /// Random bytes never trap.
  @Test func survivesRandomBytes() {
    var random = SplitMix.announced()
    let letters = Array(#"{}[]":,\epochseqtime0123456789.-+eEu nul "#.utf8)
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...40, using: &random)
      let bytes = (0..<count).map { _ in letters.randomElement(using: &random) ?? 0 }
      _ = PayloadFields(bytes)
      _ = PayloadFields(Array(#"{"epoch":"#.utf8) + bytes)
    }
  }

  private static func text(_ number: Double, _ digits: Int) -> String {
    let whole = Int64(number)
    guard digits > 0 else { return "\(whole)" }
    var fraction = ""
    var rest = (number - Double(whole)).magnitude
    for _ in 0..<digits {
      rest *= 10
      fraction += "\(min(9, Int(rest)))"
      rest -= rest.rounded(.down)
    }
    return (whole == 0 && number < 0 ? "-0" : "\(whole)") + "." + fraction
  }
}
