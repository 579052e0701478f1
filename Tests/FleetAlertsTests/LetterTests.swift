import Fleet
import FleetFixtures
import Foundation
import JSON
import Spatial
import Testing

@testable import FleetAlerts

/// Messages to receivers in their wire format.
struct LetterTests {
  /// The expected signature of `1700000000.{}` was computed with Python's hmac.
  @Test func signaturesAreHMACOfTimeAndBody() {
    #expect(
      Signature.hex(
        of: Array("{}".utf8), timestamp: 1_700_000_000, secret: Array("a secret of some length".utf8))
        == "9008b8e96ac884fb56cbbbb39d8c4b578c2c6de7951cbcce7f1f18311f3cd9f2")
  }

  @Test func base64HasShortLines() {
    #expect(Signature.base64(Array("Man".utf8)) == "TWFu" && Signature.base64([]) == "")
    #expect(Signature.base64(Array("any carnal pleas".utf8)) == "YW55IGNhcm5hbCBwbGVhcw==")
    let lines = Signature.base64([UInt8](repeating: 7, count: 500)).split(separator: "\r\n")
    #expect(lines.allSatisfy { $0.count <= 76 } && lines.count == 9)
  }

  @Test func namesCannotAddHeaders() {
    let names = [
      "van\r\nBcc: all@example.org", "van\nBcc: x", "\u{2028}\u{202E}van\u{0}",
      "\u{1F69A}" + String(repeating: "ä", count: 400),
      "=?UTF-8?B?WA==?=", "e" + String(repeating: "\u{301}", count: 500),
    ]
    for name in names {
      let letter = Letter.text(
        from: "odograph@example.org", to: ["ann@example.org", "bob@example.org"], subject: name,
        body: Array("\(name)\n.\n".utf8), key: "\(name)-1:began", at: noon)
      let text = String(decoding: letter, as: UTF8.self)
      #expect(letter.allSatisfy { $0 < 0x80 && ($0 >= 0x20 || $0 == 0x0a || $0 == 0x0d) })
      let head = text.split(separator: "\r\n\r\n").first ?? ""
      let fields = head.split(separator: "\r\n")
      #expect(
        !fields.contains { $0.hasPrefix("Bcc") } && fields.allSatisfy { $0.utf8.count <= 200 }, "\(head)")
      #expect(fields.filter { !$0.hasPrefix(" ") }.count == 9, "\(head)")
      #expect(
        !text.replacing("\r\n", with: "").contains("\n")
          && text.contains("Date: Sat, 21 Nov 2026 12:00:00 +0000"))
      #expect(fields.contains { $0.hasPrefix("To: <ann@example.org>,") })
    }
  }

  @Test func aMessageContainsAllOfItsAlerts() throws {
    let alert = Alert(
      number: 7, rule: "low", vehicle: van, subject: "", severity: .critical, summary: "battery at 15 %",
      began: noon, ended: nil, place: Coordinate(latitude: 48, longitude: 11.5), value: 0.15)
    let one = Notice(rule: "low", items: [.init(alert, .began)])
    let json = try JSONValue(parsing: AlertText.body(one, severity: .critical, epoch: "e"))
    #expect(json["key"]?.string == "e-7:began" && json["severity"]?.string == "critical")
    let told = try #require(json["alerts"]?.array?.first)
    #expect(told["id"]?.string == "e-7" && told["transition"]?.string == "began" && told["ended"] == nil)
    #expect(told["place"]?["longitude"]?.double == 11.5 && told["value"]?.double == 0.15)
    #expect(AlertText.subject(one) == "low: demo/van: battery at 15 %")
    let two = Notice(rule: "low", items: [.init(alert, .began), .init(alert, .ended)])
    #expect(AlertText.key(two, epoch: "e") == "e-7:began+1")
    #expect(AlertText.subject(two) == "low: 1 began, 1 ended, 1 vehicle")
    #expect(try JSONValue(parsing: AlertText.test("k", at: noon).json)["test"]?.bool == true)
  }

  /// The example in Config/alerts.md is the message that a webhook receives.
  @Test func theDocumentedMessageIsSent() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/alerts.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let shown = try #require(
      text.components(separatedBy: "```json webhook\n").last?.components(separatedBy: "```").first)
    let alert = Alert(
      number: 17, rule: "battery-low", vehicle: VehicleKey(fleet: "delivery", vehicle: "van-1"), subject: "",
      severity: .warning, summary: "battery at 14 %",
      began: try #require(UTCTime(rfc3339: "2026-11-23T21:14:06.000Z")), ended: nil,
      place: Coordinate(latitude: 48.137154, longitude: 11.576124), value: 0.14,
      noticed: UTCTime(rfc3339: "2026-11-23T21:14:06.000Z"))
    let notice = Notice(rule: "battery-low", items: [.init(alert, .began)])
    let sent = AlertText.body(notice, severity: .warning, epoch: "9d0f6b1c22a4e871")
    #expect(
      try JSONValue(parsing: Array(shown.utf8)) == JSONValue(parsing: sent),
      "\(String(decoding: sent, as: UTF8.self))")
  }
}
