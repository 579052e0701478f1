import Foundation
import TestSupport
import Testing

/// Reports of `odographd` about missing radios and invalid settings.
@Suite(.timeLimit(.minutes(2))) struct RadioSettingsTests {
  private static let off = ["vehicle.id=v", "gpsd.enabled=false", "iio.enabled=false"]

  private func run(_ command: [String], _ settings: [String]) throws -> (status: Int32, text: String) {
    let child = try ChildProcess(
      BuiltProduct.path("odographd"), command + (Self.off + settings).flatMap { ["--set", $0] })
    let status = child.waitForExit()
    return (status, child.output)
  }

  @Test func invalidNameIsRefusedWithARemedy() throws {
    for name in ["../x", "wlan 0", "a-name-of-16-bytes"] {
      let outcome = try run(["run"], ["radio.wifi=\(name)", "store.path=/tmp/x"])
      #expect(outcome.status == 78 && outcome.text.contains("key radio.wifi"), "\(outcome)")
      #expect(outcome.text.contains("ip -brief link"), "\(outcome)")
    }
    let flag = try run(["run"], ["radio.modem=perhaps", "store.path=/tmp/x"])
    #expect(flag.status == 78 && flag.text.contains("radio.modem"), "\(flag)")
  }

  @Test func sensorsAndCheckReportAnUnusableRadio() throws {
    let listing = try run(["sensors"], ["radio.wifi=nowifi0"])
    #expect(
      listing.status == 0 && listing.text.contains("wifi nowifi0: no such interface; plug"),
      "\(listing)")
    let text = try run(["sensors", "--json"], ["radio.wifi=lo"]).text
    let json = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    let interface = try #require(
      (json["wifi"] as? [[String: Any]])?.first { $0["interface"] as? String == "lo" })
    #expect((interface["problem"] as? String)?.contains("is no wireless interface; name another") == true)
    #expect(json["modems"] == nil)
    let check = try run(
      ["check"], ["radio.wifi=nowifi0", "store.path=/tmp/x", "mqtt.broker=mqtt://127.0.0.1:1"])
    #expect(check.status == 2 && check.text.contains("problem  wifi nowifi0: no such interface"), "\(check)")
    #expect(check.text.contains("or leave radio.wifi out"))
    let none = try run(["sensors"], [])
    #expect(none.status == 0 && !none.text.contains("modem"), "\(none)")
    let required = try run(
      ["run"],
      ["radio.wifi=nowifi0", "sensors.required=wifi", "store.path=/tmp/x", "mqtt.broker=mqtt://127.0.0.1:1"])
    #expect(
      required.status == 1 && required.text.contains("required sensors are missing: wifi"), "\(required)")
  }
}
