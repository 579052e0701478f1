import Fleet
import FleetFixtures
import FleetStore
import MQTT
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

/// A recording has the same contents in SQLite and in PostgreSQL.
@Suite struct DatabaseParityTests {
  private func messages() -> [RecordedMessage] {
    var recording = MessageRecording(root: "odograph/v1")
    let fixes = (0..<3).map { index in
      TrackMessage.Fix(
        time: noon.advanced(bySeconds: 10 + Double(index)),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48 + Double(index), longitude: -11.25)),
        horizontalAccuracy: 2.5)
    }
    let track = TrackMessage(identity: MessageIdentity(epoch: "e", seq: 9), fixes: fixes)
    let van = "odograph/v1/demo/van/"
    let all: [(String, [UInt8], Bool)] = [
      (
        van + "location", Array(locationJSON(48.5, at: 1, epoch: "e", seq: 1, speed: 2.5, course: 90).utf8),
        true
      ),
      (van + "track", track.payload, false),
      // Same time as a fix of the track, but sent live: it comes first.
      (van + "location", Array(locationJSON(48.25, at: 11, epoch: "e", seq: 3, course: 45).utf8), false),
      (
        van + "location",
        Array(
          (locationJSON(48.75, at: 4, epoch: "e", seq: 2).dropLast() + #","positionSource":"coarse"}"#).utf8),
        false
      ),
      (
        van + "location",
        Array((locationJSON(55, at: 5, epoch: "e", seq: 4).dropLast() + #","suspect":"velocity"}"#).utf8),
        false
      ),
      (
        "odograph/v1/demo/car/location", Array(locationJSON(-33.25, at: 2.001, epoch: "f", seq: 1).utf8),
        false
      ),
      (van + "status", Array(statusJSON("online", at: 3).utf8), true),
      ("a/b/c", [0xFF, 0, 0x80], false), ("a/b/d", [], false),
      ("a/'b'/\"ü\"", Array("Größe \\ \n".utf8), false),
    ]
    return all.enumerated().map { index, message in
      var one = MQTTMessage(topic: message.0, text: "", qos: .atLeastOnce)
      one.payload = message.1
      one.retain = message.2
      return recording.record(one, at: moment(Double(index)))
    }
  }

  private func positions(_ recording: any Recording, _ selection: RecordingSelection) throws
    -> [RecordedPosition]
  {
    var found: [RecordedPosition] = []
    try recording.readPositions(selection) { position throws(FleetError) in
      found.append(position)
      return true
    }
    return found
  }

  private func messages(_ recording: any Recording, _ selection: RecordingSelection) throws -> [StoredMessage]
  {
    var found: [StoredMessage] = []
    try recording.readMessages(selection) { message throws(FleetError) in
      found.append(message)
      return true
    }
    return found
  }

  @Test(.needs(.postgreSQL)) func bothDatabasesHaveTheSameContents() throws {
    let directory = try TemporaryDirectory()
    let server = try PostgreSQLFixture()
    let addresses = [directory.file("fleet.sqlite"), server.url]
    let stored = messages()
    for address in addresses {
      let store = RecordingAddress.store(for: address)
      try store.open()
      #expect(try store.store(stored) == stored.count)
      // Three messages have neither number nor time, and are stored each time.
      #expect(try store.store(stored) == 3, "\(address)")
      store.close()
    }
    let recordings = try addresses.map { try RecordingAddress.open($0) }
    var selections = [RecordingSelection()]
    var part = RecordingSelection()
    part.fleets = ["demo"]
    part.vehicles = ["van", "it's another"]
    try part.setTimes(from: wireTime(1), to: wireTime(12))
    selections.append(part)
    for selection in selections {
      let both = try recordings.map { try positions($0, selection) }
      #expect(both[0] == both[1] && !both[0].isEmpty)
      #expect(try recordings.map { try $0.countPositions(selection) } == both.map(\.count))
      let extents = try recordings.map { try $0.extent(selection) }
      #expect(extents[0] == extents[1])
      let shared = try recordings.map { try $0.sharedName(selection) }
      #expect(shared[0]?.vehicle == shared[1]?.vehicle && shared[0]?.fleets == shared[1]?.fleets)
      // PostgreSQL has no order among messages that the recorder received at the same moment.
      let said = try recordings.map {
        try messages($0, selection).sorted { ($0.received, $0.topic) < ($1.received, $1.topic) }
      }
      #expect(said[0] == said[1] && said[0].count == extents[0].count)
    }
    #expect(
      try positions(recordings[1], .init()).filter { $0.source == .coarse }.map(\.coordinate.latitude) == [
        48.75
      ])
    #expect(
      try recordings.map {
        try positions($0, .init()).filter { $0.source == .suspect }.map(\.coordinate.latitude)
      }
        == [[55], [55]])
    #expect(try messages(recordings[0], .init()).contains { $0.payload == [0xFF, 0, 0x80] })
  }
}
