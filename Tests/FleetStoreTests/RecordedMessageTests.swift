import Fleet
import FleetFixtures
import FleetStore
import MQTT
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct RecordedMessageTests {
  private func record(_ topic: String, _ payload: [UInt8], qos: QoS = .atLeastOnce, retain: Bool = false)
    -> RecordedMessage
  {
    var recording = MessageRecording(root: "odograph/v1")
    return recording.record(
      MQTTMessage(topic: topic, payload: payload, qos: qos, retain: retain), at: moment(0))
  }

  private func record(_ topic: String, _ text: String, qos: QoS = .atLeastOnce, retain: Bool = false)
    -> RecordedMessage
  {
    record(topic, Array(text.utf8), qos: qos, retain: retain)
  }

  @Test func fleetAndVehicleComeFromTheTopic() {
    let native = record("odograph/v1/demo/van/regions/reported", "{}")
    #expect(native.fleet == "demo" && native.vehicle == "van" && native.kind == "regions/reported")
    let phone = record("owntracks/ann/phone", #"{"_type":"location","tst":1}"#)
    #expect(phone.fleet == "ann" && phone.vehicle == "phone" && phone.kind == "location")
    let left = record("owntracks/ann/phone/event", #"{"_type":"transition","event":"leave","tst":1}"#)
    #expect(left.kind == "region" && left.fields.event == "exit")
    let will = record("owntracks/ann/phone", #"{"_type":"lwt","tst":1}"#)
    #expect(will.kind == "status" && will.fields.event == "offline")
    let other = record("sensors/1/x", #"{"epoch":"e","seq":1}"#)
    #expect(other.fleet == nil && other.vehicle == nil && other.kind == nil && !other.hasIdentity)
  }

  /// The payload's type decides for topics of OwnTracks, not the presence of a position.
  @Test(
    arguments: [
      (#"{"_type":"location","lat":1,"lon":2,"tst":1}"#, "location", true),
      (#"{"_type":"waypoint","desc":"home","lat":1,"lon":2,"rad":9,"tst":1}"#, "waypoint", false),
      (#"{"_type":"transition","event":"enter","lat":1,"lon":2,"tst":1}"#, "region", false),
      (#"{"_type":"encrypted","data":"x"}"#, "encrypted", false),
      (#"{"_type":"lwt","tst":1}"#, "status", false),
      (#"{"_type":"card","lat":1,"lon":2}"#, nil, false), (#"{"_type":7,"lat":1,"lon":2}"#, nil, false),
      (#"{"lat":1,"lon":2,"tst":1}"#, nil, false), ("x", nil, false), ("", "location", false),
    ] as [(String, String?, Bool)])
  func onlyLocationsOfOwnTracksArePositions(text: String, kind: String?, isLocation: Bool) {
    for profile in MessageProfile.allCases {
      var recording = MessageRecording(root: profile.usualRoot, profile: profile)
      let recorded = recording.record(
        MQTTMessage(topic: "owntracks/ann/phone", text: text, retain: true), at: moment(0))
      #expect(recorded.kind == kind && recorded.isLocation == isLocation, "\(text)")
    }
  }

  /// Table: messages that count as the same.
  @Test func theHashReplacesNumbers() {
    let van = "odograph/v1/demo/van/motion"
    let timed = #"{"time":"2026-11-21T12:00:00.000Z"}"#
    #expect(record(van, #"{"epoch":"e","seq":1}"#).hash == nil)
    for qos in [QoS.atMostOnce, .atLeastOnce] {
      let kept = record(van, "x", qos: qos, retain: true)
      #expect(record(van, timed, qos: qos).hash != nil && kept.hash != nil)
      #expect(kept.hash == record(van, "x", qos: qos, retain: true).hash)
      #expect(kept.hash != record(van, "y", qos: qos, retain: true).hash)
      // A switch may be turned on twice.
      #expect(record(van, "x", qos: qos).hash == nil)
    }
    // FNV-1a of the payload, as in older recordings.
    #expect(record(van, "foobar", retain: true).hash == Int64(bitPattern: 0x8594_4171_f739_67e8))
  }

  @Test func tracksAreSplitIntoFixes() {
    let fixes = (0..<5).map { index in
      TrackMessage.Fix(
        time: noon.advanced(bySeconds: Double(index)),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48, longitude: 11)))
    }
    let track = TrackMessage(identity: MessageIdentity(epoch: "e", seq: 4), fixes: fixes)
    let recorded = record("odograph/v1/demo/van/track", track.payload)
    #expect(recorded.fixes == track.fixes && recorded.fields.seq == 4)
    #expect(record("odograph/v1/demo/van/track", "{}").fixes.isEmpty)
  }

  @Test func textIsWhatDatabasesAcceptAsText() {
    #expect(record("x/y/z", "Zürich").isText && record("x/y/z", "").isText)
    #expect(!record("x/y/z", [0x61, 0]).isText && !record("x/y/z", [0xFF, 0xFE]).isText)
  }

  @Test func daysAreThoseOfUTC() throws {
    #expect(Day(noon).text == "2026-11-21" && Day(noon).next.text == "2026-11-22")
    #expect(Day(try #require(UTCTime(rfc3339: "1969-12-31T23:59:59Z"))).number == -1)
    #expect(Day(try #require(UTCTime(rfc3339: "1970-01-01T00:00:00Z"))).number == 0)
    #expect(Day(number: 0).text == "1970-01-01")
    #expect(Day(try #require(UTCTime(rfc3339: "2000-02-29T23:59:59.999Z"))).text == "2000-02-29")
  }

  @Test func rowsForCopyAreAsDocumented() {
    var rows = CopyRows()
    rows.beginRow(columns: 3)
    rows.text("ü")
    rows.text(nil)
    rows.timestamp(UTCTime(rfc3339: "2000-01-01T00:00:00.001Z"))
    rows.finish()
    let header: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 13, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    let row: [UInt8] =
      [0, 3, 0, 0, 0, 2, 0xC3, 0xBC, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 3, 0xE8]
    #expect(rows.bytes == header + row + [0xFF, 0xFF] && rows.count == 1)
  }

  @Test(arguments: [
    ("postgres://ann:secret@db/fleet?password=x", "postgres://ann@db/fleet"),
    ("postgres://ann@db:5432/fleet", "postgres://ann@db:5432/fleet"),
    ("postgresql://db/fleet", "postgresql://db/fleet"), ("fleet.sqlite", "fleet.sqlite"),
  ])
  func secretsAreNotShown(_ address: String, _ shown: String) {
    #expect(PostgreSQLStore.withoutSecrets(address) == shown)
  }
}
