import Fleet
import FleetFixtures
import FleetStore
import JSON
import MQTT
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

@Suite struct ReplayRewriterTests {
  private func stored(_ path: String, _ payload: String, at seconds: Double = 0) -> StoredMessage {
    StoredMessage(
      received: noon.advanced(bySeconds: seconds), topic: "odograph/v1/demo/van/" + path,
      vehicle: VehicleKey(fleet: "demo", vehicle: "van"), kind: path, qos: .atLeastOnce, retain: true,
      payload: Array(payload.utf8))
  }

  private func clock(_ speed: Double?, longestPause: Double? = nil) -> ReplayClock {
    ReplayClock(
      noon...noon.advanced(bySeconds: 100), speed: speed, longestPause: longestPause,
      start: noon.advanced(bySeconds: 86_400))
  }

  private func day(_ seconds: Double) -> String { noon.advanced(bySeconds: 86_400 + seconds).rfc3339 }

  /// Only times and epochs change, and the other bytes do not.
  @Test func shiftedTimesAndNothingElse() throws {
    let text =
      #"{ "time" : "\#(wireTime(-2))","x":{"time":"\#(wireTime(0))","epoch":"y"},"tst":1795262400,"#
      + #""epoch":"e\"1","seq":7,"sessionStart":"\#(wireTime(-10))","\u0061":1e400,"note":"ü\n"}"#
    let message = ReplayRewriter(.shift, run: 35).message(stored("status", text), clock(1))
    let epoch = try #require(PayloadFields(message.payload).epoch)
    // The form that the schemas require, and a different one in each run.
    #expect(epoch.count == 16 && epoch.allSatisfy(\.isHexDigit))
    let again = ReplayRewriter(.shift, run: 36).message(stored("status", text), clock(1))
    #expect(PayloadFields(again.payload).epoch != epoch)
    let expected =
      #"{ "time" : "\#(day(-2))","x":{"time":"\#(wireTime(0))","epoch":"y"},"tst":1795348800,"#
      + #""epoch":"\#(epoch)","seq":7,"sessionStart":"\#(day(-10))","\u0061":1e400,"note":"ü\n"}"#
    #expect(String(decoding: message.payload, as: UTF8.self) == expected)
    #expect(message.qos == .atLeastOnce && message.retain && message.topic == "odograph/v1/demo/van/status")
  }

  @Test func unshiftedMessagesAreUnchanged() {
    let text = #"{"time":"\#(wireTime(0))","epoch":"e","seq":1}"#
    let message = ReplayRewriter(.keep, fleet: "test", run: 1).message(
      stored("location", text), clock(10))
    #expect(message.payload == Array(text.utf8) && message.topic == "odograph/v1/test/van/location")
  }

  /// Table: payloads that are no objects are unchanged.
  @Test func otherPayloadsAreUnchanged() {
    let rewriter = ReplayRewriter(.shift, run: 1)
    for text in [
      "", "time", "[1]", #"{"time":"x""#, #"{"time":5,"epoch":[]}"#, #"{"time":"today"}"#, "\u{0}", "{}",
      " { } ",
    ] {
      #expect(rewriter.message(stored("motion", text), clock(1)).payload == Array(text.utf8), "\(text)")
    }
  }

  /// Property: JSON remains JSON, and other payloads are unchanged.
  @Test func randomPayloadsAreRewritten() {
    var generator = SplitMix(seed: 6)
    let pieces = [
      "{", "}", "[", "]", ",", ":", "\"time\"", "\"epoch\"", "\"e\"", "1", "-1e3", "null", " ", "\"\\\"\"",
      "\n",
      "\"2026-11-21T12:00:00Z\"", "\"", "\\",
    ]
    let rewriter = ReplayRewriter(.shift, run: 1)
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 1...9, using: &generator)).compactMap { _ in
        pieces.randomElement(using: &generator)
      }.joined()
      let result = rewriter.message(stored("motion", text), clock(2)).payload
      if !JSONScan(Array(text.utf8).span).isValid {
        #expect(result == Array(text.utf8))
      } else {
        #expect(JSONScan(result.span).isValid, "\(text)")
      }
    }
  }

  /// The duration of a track is scaled to the speed of the replay.
  @Test func tracksAreScaledToTheSpeed() throws {
    let fixes = (0..<5).map { index in
      TrackMessage.Fix(
        time: noon.advanced(bySeconds: Double(10 * index)),
        coordinate: PrivacyPolicy.unrestricted(
          Coordinate(latitude: 48 + Double(index) / 1000, longitude: 11)), horizontalAccuracy: 5)
    }
    let track = TrackMessage(
      identity: MessageIdentity(epoch: "e", seq: 4), fixes: fixes, precision: 6, bound: 2)
    let message = ReplayRewriter(.shift, run: 1).message(
      stored("track", String(decoding: track.payload, as: UTF8.self), at: 41), clock(10))
    let read = try TrackMessage(json: JSONValue(parsing: message.payload))
    #expect(read.fixes.map(\.time.rfc3339) == (0..<5).map { day(Double($0)) })
    #expect(read.fixes.map(\.coordinate) == fixes.map(\.coordinate) && read.precision == 6 && read.bound == 2)
    #expect(read.identity?.seq == 4 && read.identity?.epoch.count == 16)
  }

  @Test func theClockFollowsTheSpeedAndSkipsPauses() {
    var life = clock(2)
    #expect(life.due(noon.advanced(bySeconds: 10)).rfc3339 == day(5))
    // The recorder's clock was set back: no message is due before an earlier one.
    #expect(life.due(noon.advanced(bySeconds: 4)).rfc3339 == day(5))
    #expect(life.due(noon.advanced(bySeconds: 6)).rfc3339 == day(6))
    var short = clock(1, longestPause: 5)
    #expect(short.due(noon.advanced(bySeconds: 3)).rfc3339 == day(3))
    #expect(short.due(noon.advanced(bySeconds: 50)).rfc3339 == day(8))
    #expect(short.moved(noon.advanced(bySeconds: 49)).rfc3339 == day(7))
    // At full speed the last moment of the recording is now.
    var fast = clock(nil)
    #expect(fast.due(noon.advanced(bySeconds: 60)).rfc3339 == day(0))
    #expect(fast.moved(noon.advanced(bySeconds: 100)).rfc3339 == day(0))
    #expect(fast.moved(noon).rfc3339 == day(-100))
  }

  @Test func topicsOfBothProfilesMoveToAnotherFleet() {
    let rewriter = ReplayRewriter(.keep, fleet: "test", run: 1)
    var phone = stored("location", "{}")
    phone.topic = "owntracks/ann/phone/event"
    phone.vehicle = VehicleKey(fleet: "ann", vehicle: "phone")
    #expect(rewriter.message(phone, clock(1)).topic == "owntracks/test/phone/event")
    phone.vehicle = nil
    #expect(rewriter.message(phone, clock(1)).topic == "owntracks/ann/phone/event")
  }
}
