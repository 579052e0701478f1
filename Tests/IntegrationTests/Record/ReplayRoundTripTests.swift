import Foundation
import TestSupport
import Testing

/// `odograph replay`: a recording that is replayed and recorded again has the same content.
@Suite(.serialized) struct ReplayRoundTripTests {
  /// The columns except `received`, which is the recorder's time, and the row number.
  private static let messages = """
    SELECT time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, hash, event, latitude, longitude, altitude,
        accuracy, speed, course, typeof(payload), payload
      FROM messages ORDER BY topic, epoch, seq, payload
    """
  private static let fixes = """
    SELECT fleet, vehicle, time, latitude, longitude, accuracy, epoch, seq, place
      FROM fixes ORDER BY vehicle, epoch, seq, place
    """

  @Test(.timeLimit(.minutes(8))) func replayReproducesTheRecording() async throws {
    let drive = try RecordedDrive()
    let (first, second) = (drive.state.file("first.sqlite"), drive.state.file("second.sqlite"))
    try await drive.record(into: first, subscription: 1, until: RecordedDrive.isWhole(first)) {
      try await drive.drive()
    }
    // A broker without retained messages of the first recording.
    let empty = try RecordedDrive()
    try await empty.record(into: second, subscription: 2, until: RecordedDrive.isWhole(second)) {
      let result = try await OdographProcess.run(
        ["replay", first, "--speed", "max", "--times", "keep", "--as-live", "--json"] + empty.address)
      #expect(result.status == 0, "\(result.output)")
      let counts = try #require(
        JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any], "\(result.output)")
      #expect(counts["acknowledged"] as? Int == counts["messages"] as? Int && counts["rejected"] as? Int == 0)
    }
    let (a, b) = (try SQLiteReader(first), try SQLiteReader(second))
    let rows = try a.rows(Self.messages)
    #expect(rows.count > 100 && Set(rows.map { $0[5] }) == ["0", "1"])
    #expect(try rows == b.rows(Self.messages))
    #expect(try a.rows(Self.fixes) == b.rows(Self.fixes) && !a.rows(Self.fixes).isEmpty)
    // The order of a vehicle's messages is unchanged.
    let order = "SELECT topic, seq FROM messages WHERE vehicle = 'sim-2' AND qos = 1 ORDER BY id"
    #expect(try a.rows(order) == b.rows(order))
    print("replayed and recorded again,\(rows.count)")
  }

  @Test(.timeLimit(.minutes(8))) func replayIntoAnotherFleetIsNotDuplicated() async throws {
    let drive = try RecordedDrive()
    let store = drive.state.file("fleet.sqlite")
    try await drive.record(into: store, subscription: 1, until: RecordedDrive.isWhole(store)) {
      try await drive.drive()
    }
    // Recorded into the same store: no message is treated as a duplicate.
    let before =
      try SQLiteReader(store).rows("SELECT count(*) FROM messages WHERE fleet = 'demo'")[0][0] ?? ""
    let begin = Date().timeIntervalSince1970 * 1000
    let count = "SELECT count(*) FROM messages WHERE fleet = 'rehearsal'"
    try await drive.record(
      into: store, subscription: 2, until: SQLiteReader(store).rows(count) == [[before]]
    ) {
      let result = try await OdographProcess.run(
        ["replay", store, "--speed", "20", "--fleet", "demo", "--to-fleet", "rehearsal"] + drive.address)
      #expect(result.status == 0, "\(result.output)")
    }
    let end = Date().timeIntervalSince1970 * 1000
    let reader = try SQLiteReader(store)
    // Times are shifted to the present, and none is in the future.
    let times = try reader.rows(
      "SELECT min(time), max(time) FROM messages WHERE fleet = 'rehearsal' AND kind = 'location'")[0]
    #expect((Double(times[0] ?? "") ?? 0) > begin - 30_000 && (Double(times[1] ?? "") ?? 0) < end + 1000)
    #expect(
      try reader.rows(
        "SELECT count(DISTINCT epoch) = (SELECT count(DISTINCT epoch) FROM messages WHERE fleet = 'demo') FROM messages WHERE fleet = 'rehearsal'"
      ) == [["1"]])
    #expect(
      try reader.rows(
        "SELECT count(*) FROM messages a JOIN messages b ON a.epoch = b.epoch WHERE a.fleet = 'demo' AND b.fleet = 'rehearsal'"
      ) == [["0"]])
  }

  /// Requests to vehicles are omitted and counted, unless `--orders` is given.
  @Test(.timeLimit(.minutes(6))) func requestsAreNotReplayed() async throws {
    let drive = try RecordedDrive()
    let store = drive.state.file("fleet.sqlite")
    let van = "odograph/v1/demo/van"
    let orders = [
      "\(van)/config/desired", "\(van)/regions/desired", "\(van)/command/locate", "owntracks/ann/phone/cmd",
    ]
    let others = [
      "\(van)/command/locate/response", "\(van)/config/reported", "\(van)/status", "sensors/done",
    ]
    try await drive.record(into: store, subscription: 1, until: RecordedDrive.isWhole(store)) {
      for topic in orders + others { try await publish(drive.broker, topic, #"{"id":"1"}"#) }
    }
    for asked in [false, true] {
      let listener = try RecordedDrive()
      let again = listener.state.file("again.sqlite")
      try await listener.record(into: again, subscription: 2, until: RecordedDrive.isWhole(again)) {
        let result = try await OdographProcess.run(
          ["replay", store, "--speed", "max", "--times", "keep", "--as-live"]
            + (asked ? ["--orders"] : ["--json"])
            + listener.address)
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains(asked ? "8 of 8 messages" : #""leftOut":4"#), "\(result.output)")
      }
      let topics = try SQLiteReader(again).rows("SELECT topic FROM messages").compactMap { $0[0] }
      #expect(Set(topics) == Set(asked ? orders + others : others))
    }
  }

  @Test(.timeLimit(.minutes(6))) func interruptEndsReplay() async throws {
    let drive = try RecordedDrive()
    let store = drive.state.file("fleet.sqlite")
    try await drive.record(into: store, subscription: 1, until: RecordedDrive.isWhole(store)) {
      try await drive.drive(seconds: 2)
    }
    let output = drive.state.file("replay.out")
    let said = "Received PUBLISH from odograph-"
    let before = drive.broker.logCount(said)
    let replay = try OdographProcess.start(
      ["replay", store, "--as-live", "--speed", "0.01", "--json"] + drive.address, output: output)
    try await eventually { drive.broker.logCount(said) > before }
    replay.signal(SIGINT)
    try await eventually { !replay.isRunning }
    #expect(replay.waitForExit() == 130)
    #expect(try OdographProcess.text(of: output).contains(#""unacknowledged":0"#))
    let port: Int = try FreePort.next()
    let nobody = try await OdographProcess.run([
      "replay", store, "--as-live", "--port", "\(port)", "--host", "127.0.0.1",
    ])
    #expect(nobody.status == 69 && nobody.output.contains("cannot reach the broker"))
  }

  @Test(.timeLimit(.minutes(8)), .needs(.postgreSQL))
  func fromPostgreSQLToo() async throws {
    let drive = try RecordedDrive()
    let database = try PostgreSQLFixture()
    let (file, again) = (drive.state.file("fleet.sqlite"), drive.state.file("again.sqlite"))
    let inDatabase = {
      try !database.query("SELECT 1 FROM odograph.messages WHERE topic = 'sensors/done'").isEmpty
    }
    try await drive.record(into: file, subscription: 1, until: RecordedDrive.isWhole(file)) {
      try await drive.record(into: database.url, subscription: 2, until: inDatabase()) {
        try await drive.drive()
      }
    }
    for part in [[], ["--vehicle", "sim-2", "--from", "2026-11-21"]] {
      let fromFile = try await OdographProcess.run(["export", file, "-q", "--format", "csv"] + part)
      let fromDatabase = try await OdographProcess.run(
        ["export", database.url, "-q", "--format", "csv"] + part)
      #expect(fromFile.status == 0 && fromDatabase.status == 0, "\(fromDatabase.output)")
      #expect(fromFile.lines.count > 2 && fromFile.lines.sorted() == fromDatabase.lines.sorted())
    }
    let empty = try RecordedDrive()
    try await empty.record(into: again, subscription: 3, until: RecordedDrive.isWhole(again)) {
      let result = try await OdographProcess.run(
        ["replay", database.url, "--speed", "max", "--times", "keep", "--as-live", "-q"] + empty.address)
      #expect(result.status == 0, "\(result.output)")
    }
    // Both databases store times in milliseconds.
    #expect(try SQLiteReader(file).rows(Self.messages) == SQLiteReader(again).rows(Self.messages))
  }
}
