import Fleet
import FleetFixtures
import MQTT
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

@testable import FleetStore

/// The initial state of commands: the last message of each topic, as if the broker had retained it.
@Suite struct RecordedBeginningTests {
  private typealias Rows = RecordedRows

  /// Messages with the second at which each was recorded.
  private let told: [(Double, (String, String))] = [
    (0, ("van/status", statusJSON("online", at: 0, epoch: "e", seq: 1))),
    (10, ("van/config/desired", #"{"version":"a"}"#)),
    (20, ("van/config/desired", #"{"version":"b"}"#)),
    (
      30,
      ("van/config/reported", #"{"time":"2026-11-21T12:00:25.000Z","state":"applied","epoch":"e","seq":4}"#)
    ),
    (31, ("van/regions/desired", #"{"type":"FeatureCollection","features":[]}"#)),
    (32, ("van/regions/desired", "")),
    (60, ("van/status", statusJSON("online", at: 60, epoch: "e", seq: 9))),
    (61, Rows.location(10, at: 61, latitude: 48.25)),
    // Late: published before the messages above.
    (90, ("van/status", statusJSON("asleep", at: 40, epoch: "e", seq: 6))),
    (91, Rows.location(7, at: 41, latitude: 47)),
    // The will of the session: it has the time of the session's start, and arrived last.
    (120, ("van/status", statusJSON("offline", at: 0, will: true))),
    // A will that a later session has superseded.
    (5, ("bus/status", statusJSON("offline", at: 0, will: true))),
    (6, ("bus/status", statusJSON("online", at: 6, session: 6, epoch: "b", seq: 1))),
    (50, Rows.track("bus", 2, at: 40, latitudes: [48, 48.001])),
    // A removed vehicle: its retained messages were deleted.
    (7, Rows.location("cab", 1, at: 7)),
    (8, ("cab/status", statusJSON("online", at: 8, epoch: "c", seq: 2))),
    (70, ("cab/location", "")), (70, ("cab/status", "")),
  ]

  private func query(_ fleets: [String] = [], _ vehicles: [String] = []) -> BeginningQuery {
    BeginningQuery(
      root: "odograph/v1", fleets: fleets, vehicles: vehicles,
      paths: BeginningQuery.shown + ["config/desired", "config/reported"])
  }

  private func record(into store: any MessageStore) throws {
    try store.open()
    for (seconds, message) in told { _ = try store.store(Rows.of([message], at: seconds)) }
    store.close()
  }

  @Test func sqliteReturnsWhatABrokerWouldRetain() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    try record(into: SQLiteStore(path: path))
    try check(RecordingAddress.open(path))
  }

  @Test(.needs(.postgreSQL)) func postgreSQLReturnsTheSame() throws {
    let server = try PostgreSQLFixture()
    try record(into: PostgreSQLStore(address: server.url))
    try check(RecordingAddress.open(server.url))
  }

  private func check(_ recording: any Recording) throws {
    let now = moment(300).time
    let all = try recording.beginning(query(), at: now)
    let payloads = Dictionary(
      uniqueKeysWithValues: all.messages.map { ($0.topic, String(decoding: $0.payload, as: UTF8.self)) })
    func payload(_ path: String) -> String? { payloads["odograph/v1/demo/" + path] }
    #expect(all.vehicles.map(\.vehicle) == ["bus", "van"] && all.name == recording.name)
    #expect(all.newest == moment(120).time)
    #expect(all.messages.allSatisfy(\.retain) && all.messages.count == 6)
    // Unchanged, byte for byte.
    #expect(payload("van/status") == statusJSON("offline", at: 0, will: true))
    #expect(payload("van/location") == Rows.location(10, at: 61, latitude: 48.25).1)
    #expect(payload("van/config/desired") == #"{"version":"b"}"#)
    #expect(payload("van/config/reported")?.contains("applied") == true)
    #expect(payload("van/regions/desired") == nil)
    #expect(payload("bus/status") == statusJSON("online", at: 6, session: 6, epoch: "b", seq: 1))
    // A position of a track is no message of the vehicle, and has no number.
    let position = try #require(payload("bus/location"))
    let fields = PayloadFields(Array(position.utf8))
    #expect(fields.latitude == 48.001 && fields.speed == 13.37 && fields.epoch == nil)
    #expect(fields.time == moment(41).time)
    // In the order of recording.
    #expect(all.messages.last?.topic == "odograph/v1/demo/van/status")

    #expect(try recording.beginning(query(["demo"], ["van"]), at: now).vehicles.map(\.vehicle) == ["van"])
    let other = try recording.beginning(query(["other"]), at: now)
    #expect(other.messages.isEmpty && other.newest == nil)
    var elsewhere = query()
    elsewhere.root = "fleet/v2"
    let none = try recording.beginning(elsewhere, at: now)
    #expect(!none.messages.contains { $0.topic.hasPrefix("odograph/v1") })
  }

  /// Received messages take precedence over recorded ones, whatever the order of requests.
  @Test func receivedMessagesTakePrecedence() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    try record(into: SQLiteStore(path: path))
    let beginning = try RecordingAddress.open(path).beginning(query(), at: moment(300).time)
    var roster = Roster(root: "odograph/v1")
    for message in beginning.messages {
      roster.apply(topic: message.topic, payload: message.payload, retained: true, at: moment(300))
    }
    #expect(roster.van?.state == .offline)
    #expect(roster.van?.location?.message.location.coordinate.latitude == 48.25)
    // A broker that retained an older message, and one that delivers the same.
    roster.receive("location", Rows.location(7, at: 41, latitude: 47).1, retained: true, at: 301)
    roster.receive("location", Rows.location(10, at: 61, latitude: 48.25).1, retained: true, at: 301)
    #expect(roster.van?.location?.message.location.coordinate.latitude == 48.25)
    roster.receive("location", Rows.location(11, at: 302, latitude: 49).1, at: 302)
    roster.receive("status", statusJSON("online", at: 302, session: 300, epoch: "e", seq: 12), at: 302)
    #expect(
      roster.van?.state == .online && roster.van?.location?.message.location.coordinate.latitude == 49)

    let desired = "odograph/v1/demo/van/config/desired"
    let kept = [MQTTMessage(topic: desired, text: #"{"version":"c"}"#, retain: true)]
    let both = beginning.adding(kept)
    #expect(both.filter { $0.topic == desired } == kept)
    #expect(both.count == beginning.messages.count)
  }

  @Test func phonesHaveAnInitialState() throws {
    let directory = try TemporaryDirectory()
    let store = SQLiteStore(path: directory.file("fleet.sqlite"))
    try store.open()
    var recording = MessageRecording(root: "owntracks", profile: .ownTracks)
    let time = Int(moment(0).time.nanoseconds / 1_000_000_000)
    let said = [10, 20, 15].map { second in
      (second, #"{"_type":"location","lat":48.\#(second),"lon":11.5,"tst":\#(time + second)}"#)
    }
    for (index, (_, text)) in said.enumerated() {
      let message = MQTTMessage(topic: "owntracks/ann/phone", text: text, qos: .atLeastOnce)
      _ = try store.store([recording.record(message, at: moment(Double(30 + index)))])
    }
    store.close()
    let query = BeginningQuery(FleetSelection(profile: .ownTracks, fleets: ["ann"]))
    let beginning = try RecordingAddress.open(directory.file("fleet.sqlite")).beginning(
      query, at: moment(60).time)
    #expect(beginning.messages.map(\.topic) == ["owntracks/ann/phone"])
    #expect(beginning.messages.first?.payload == Array(said[1].1.utf8))
  }

  /// A phone reports a network position and a satellite position for the same second, then an encrypted message, a waypoint, and an
  /// earlier position.
  @Test(arguments: [1, 2, 7]) func theMostAccuratePositionOfAPhoneIsUsed(batch: Int) throws {
    let directory = try TemporaryDirectory()
    let store = SQLiteStore(path: directory.file("fleet.sqlite"))
    try store.open()
    var recording = MessageRecording(root: "owntracks", profile: .ownTracks)
    let time = Int(moment(0).time.nanoseconds / 1_000_000_000)
    func location(_ latitude: Double, _ accuracy: Int, at second: Int) -> String {
      #"{"_type":"location","lat":\#(latitude),"lon":11.5,"tst":\#(time + second),"acc":\#(accuracy)}"#
    }
    let said = [
      location(47, -1, at: 20), location(48, 900, at: 20), location(48.5, 8, at: 20),
      location(49, 40, at: 20),
      location(46, 3, at: 10), #"{"_type":"encrypted","data":"c2VjcmV0"}"#,
      #"{"_type":"waypoint","desc":"home","lat":1,"lon":2,"rad":9,"tst":\#(time + 50)}"#,
    ]
    let rows = said.enumerated().map { index, text in
      recording.record(
        MQTTMessage(topic: "owntracks/ann/phone", text: text, qos: .atLeastOnce),
        at: moment(Double(60 + index)))
    }
    for start in stride(from: 0, to: rows.count, by: batch) {
      _ = try store.store(Array(rows[start..<min(start + batch, rows.count)]))
    }
    store.close()
    let reader = try SQLiteReader(directory.file("fleet.sqlite"))
    #expect(try reader.rows("SELECT latitude, accuracy FROM latest") == [["48.5", "8.0"]])
    #expect(try reader.rows("SELECT count(*) FROM positions") == [["5"]])
    let query = BeginningQuery(FleetSelection(profile: .ownTracks, fleets: ["ann"]))
    let beginning = try RecordingAddress.open(directory.file("fleet.sqlite")).beginning(
      query, at: moment(90).time)
    #expect(beginning.messages.map { String(decoding: $0.payload, as: UTF8.self) } == [said[2]])
    var roster = Roster(profile: .ownTracks)
    for text in said {
      roster.apply(topic: "owntracks/ann/phone", payload: Array(text.utf8), retained: false, at: moment(90))
    }
    #expect(roster.vehicles.first?.location?.message.location.coordinate.latitude == 48.5)
    #expect(roster.vehicles.first?.unreadable == 0)
  }

  @Test func theLastMessageDoesNotDependOnTheOrder() {
    func word(_ received: Double, _ said: Double?, _ isNumbered: Bool) -> RetainedMessages.Entry {
      RetainedMessages.Entry(
        received: moment(received).time, time: said.map { moment($0).time }, isNumbered: isNumbered,
        message: MQTTMessage(topic: "t", text: "\(received)"))
    }
    // The numbered message with the latest time, unless a message without a number arrived after it.
    let cases: [(words: [RetainedMessages.Entry], last: String)] = [
      ([word(9, 9, true), word(12, 5, true), word(10, 0, false)], "10.0"),
      ([word(11, 9, true), word(12, 5, true), word(10, 0, false)], "11.0"),
      ([word(1, nil, false), word(3, nil, false), word(2, nil, false)], "3.0"),
    ]
    for (words, last) in cases {
      for rotation in words.indices {
        for order in [words, words.reversed()] {
          var heard = RetainedMessages()
          for index in order.indices { heard.hear(order[(index + rotation) % order.count], kind: "status") }
          #expect(heard.kept.map(\.message.payload) == [Array(last.utf8)])
        }
      }
    }
  }

  /// The work is bounded whatever the size of the fleet, and each vehicle has its share.
  @Test func theLookBackIsBounded() {
    #expect(LookBack.messages(ofEachOf: 0) == 50_000 && LookBack.messages(ofEachOf: 1) == 50_000)
    #expect(LookBack.messages(ofEachOf: 1000) == 500 && LookBack.messages(ofEachOf: 1_000_000) == 200)
  }

  @Test func unreadableRecordingsHaveARemedy() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    #expect { try RecordedBeginning.read(path, query()) } throws: {
      "\($0)".contains(path) && "\($0)".contains("no such file")
    }
    #expect { try RecordedBeginning.read("http://x/y", query()) } throws: { "\($0)".contains("postgres://") }
    let text = try directory.write("no.sqlite", String(repeating: "no database\n", count: 100))
    #expect { try RecordedBeginning.read(text, query()) } throws: {
      "\($0)".contains("odograph record has written")
    }
    try record(into: SQLiteStore(path: path))
    let reader = try SQLiteReader(path)
    try reader.run("PRAGMA user_version = 3")
    #expect { try RecordedBeginning.read(path, query()) } throws: {
      "\($0)".contains(path) && "\($0)".contains("odograph record --prepare")
    }
    try reader.run("PRAGMA user_version = 99")
    #expect { try RecordedBeginning.read(path, query()) } throws: { "\($0)".contains("a newer odograph") }
  }
}
