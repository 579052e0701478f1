import Fleet
import FleetFixtures
import FleetStore
import MQTT
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

@Suite struct SQLiteRecordingTests {
  private func recording(_ messages: [(String, String)]) throws -> (TemporaryDirectory, SQLiteRecording) {
    let directory = try TemporaryDirectory()
    let store = SQLiteStore(path: directory.file("fleet.sqlite"))
    try store.open()
    var recording = MessageRecording(root: "odograph/v1")
    _ = try store.store(
      messages.enumerated().map { index, message in
        recording.record(
          MQTTMessage(topic: message.0, text: message.1, qos: .atLeastOnce), at: moment(Double(index)))
      })
    store.close()
    let reader = SQLiteRecording(path: directory.file("fleet.sqlite"))
    try reader.open()
    return (directory, reader)
  }

  private func positions(_ recording: SQLiteRecording, _ selection: RecordingSelection = .init()) throws
    -> [RecordedPosition]
  {
    var positions: [RecordedPosition] = []
    try recording.readPositions(selection) { position throws(FleetError) in
      positions.append(position)
      return true
    }
    #expect(try recording.countPositions(selection) >= positions.count)
    return positions
  }

  private func track(_ latitudes: [Double], from seconds: Double, seq: UInt64) -> String {
    let fixes = latitudes.enumerated().map { index, latitude in
      TrackMessage.Fix(
        time: noon.advanced(bySeconds: seconds + Double(index)),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: latitude, longitude: 11)))
    }
    let message = TrackMessage(identity: MessageIdentity(epoch: "e", seq: seq), fixes: fixes)
    return String(decoding: message.payload, as: UTF8.self)
  }

  @Test func positionsOfBothTablesAreOrderedByVehicleAndTime() throws {
    let van = "odograph/v1/demo/van/"
    let (directory, recording) = try recording([
      (van + "location", locationJSON(48.3, at: 30, epoch: "e", seq: 3, speed: 5)),
      (van + "track", track([48.1, 48.2], from: 10, seq: 1)),
      ("odograph/v1/demo/car/location", locationJSON(47, at: 20, epoch: "e", seq: 1)),
      (van + "location", locationJSON(48.4, at: 5, epoch: "e", seq: 2)),
      (van + "location", "no JSON"), (van + "status", statusJSON("online", at: 0)),
    ])
    let all = try positions(recording)
    #expect(all.map(\.vehicle.vehicle) == ["car", "van", "van", "van", "van"])
    #expect(all.dropFirst().map(\.coordinate.latitude) == [48.4, 48.1, 48.2, 48.3])
    #expect(all.last?.speed == 5 && all.last?.source == .location && all[2].source == .track)
    var part = RecordingSelection()
    part.vehicles = ["van"]
    try part.setTimes(from: wireTime(11), to: wireTime(30))
    #expect(try positions(recording, part).map(\.coordinate.latitude) == [48.2])
    part.fleets = ["other"]
    #expect(try positions(recording, part).isEmpty)
    withExtendedLifetime(directory) {}
  }

  /// Both tables are read in the order of their indexes, whatever the size of the recording.
  @Test func queriesNeedNoSorting() throws {
    let (directory, _) = try recording([])
    let plan = try SQLiteReader(directory.file("fleet.sqlite")).rows(
      "EXPLAIN QUERY PLAN \(SQLiteRecording(path: "").positionsSQL(where: "true"))")
    #expect(!plan.contains { ($0[3] ?? "").contains("TEMP B-TREE") }, "\(plan)")
  }

  @Test func messagesAreReadUnchanged() throws {
    let hostile = "\u{1B}[2J"
    let (directory, recording) = try recording([
      ("odograph/v1/demo/van/status", statusJSON("online", at: 7)), ("a/b/c", hostile), ("a/b/c", ""),
    ])
    var seen: [StoredMessage] = []
    try recording.readMessages(.init()) { message throws(FleetError) in
      seen.append(message)
      return seen.count < 3
    }
    #expect(seen.map(\.topic) == ["odograph/v1/demo/van/status", "a/b/c", "a/b/c"])
    #expect(
      seen.map { String(decoding: $0.payload, as: UTF8.self) } == [statusJSON("online", at: 7), hostile, ""])
    #expect(seen[0].vehicle == VehicleKey(fleet: "demo", vehicle: "van") && seen[1].vehicle == nil)
    #expect(seen[0].received == noon && seen[0].qos == .atLeastOnce && !seen[0].retain)
    let extent = try recording.extent(.init())
    #expect(extent.count == 3 && extent.received == noon...noon.advanced(bySeconds: 2))
    withExtendedLifetime(directory) {}
  }

  @Test func namesInSeveralFleetsAreFound() throws {
    let (directory, recording) = try recording([
      ("odograph/v1/demo/bus/status", statusJSON("online", at: 6)),
      ("odograph/v1/demo/van/status", statusJSON("online", at: 7)), ("a/b/c", "x"),
      ("odograph/v1/test/van/status", statusJSON("online", at: 8)),
    ])
    let shared = try #require(try recording.sharedName(.init()))
    #expect(shared.vehicle == "van" && shared.fleets == ["demo", "test"])
    var part = RecordingSelection()
    part.fleets = ["demo"]
    #expect(try recording.sharedName(part)?.vehicle == nil)
    (part.fleets, part.vehicles) = ([], ["bus"])
    #expect(try recording.sharedName(part)?.vehicle == nil)
    withExtendedLifetime(directory) {}
  }

  @Test func filesThatAreNoRecordingsAreReported() throws {
    let directory = try TemporaryDirectory()
    #expect { try SQLiteRecording(path: directory.file("none.sqlite")).open() } throws: {
      "\($0)".contains("no such file")
    }
    let other = directory.file("other.sqlite")
    try SQLiteReader(other).run("CREATE TABLE t (a)")
    #expect { try SQLiteRecording(path: other).open() } throws: { "\($0)".contains("not a recording") }
  }
}
