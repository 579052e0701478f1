import Foundation
import Glibc
import TestSupport
import Testing

/// Results and exit codes of `odograph record`.
@Suite struct RecordCommandTests {
  private let location = "odograph/v1/demo/van/location"

  private func payload(_ seq: Int, _ more: String = "") -> String {
    #"{"time":"\#(FleetPayload.time())","latitude":48.5,"longitude":11,"epoch":"e","seq":\#(seq)\#(more)}"#
  }

  @Test(.timeLimit(.minutes(6))) func recordsAndEndsAtTheCount() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    let record = RecordProcess(broker, into: path, ["--count", "4", "--json"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    let one = payload(1)
    for text in [one, one, "no JSON \u{1B}[2J", #"{"time":7,"latitude":"x","epoch":{},"seq":1e400}"#] {
      try await publish(broker, location, text)
    }
    #expect(try await record.waitForEnd() == 0)
    let last = try #require(record.output.split(separator: "\n").last)
    #expect(last.contains(#""received":4,"stored":3,"duplicates":1"#) && last.contains(#""final":true"#))
    let reader = try SQLiteReader(path)
    #expect(
      try reader.rows("SELECT payload, latitude, seq FROM messages ORDER BY id") == [
        [one, "48.5", "1"], ["no JSON \u{1B}[2J", nil, nil],
        [#"{"time":7,"latitude":"x","epoch":{},"seq":1e400}"#, nil, nil],
      ])
  }

  /// Counters for the textfile collector of Prometheus' node exporter, also after a folder was missing.
  @Test(.timeLimit(.minutes(6))) func writesCountersIntoAFile() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let folder = state.file("collector")
    let record = RecordProcess(
      broker, into: state.file("fleet.sqlite"), ["--metrics", folder + "/demo.prom"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    try await eventually { record.output.contains("the counters are written as soon as this is fixed") }
    #expect(mkdir(folder, 0o755) == 0)
    let one = payload(1)
    try await publish(broker, location, one)
    func text() -> String { (try? String(contentsOfFile: folder + "/demo.prom", encoding: .utf8)) ?? "" }
    try await eventually { text().contains("\nodograph_record_stored_total{recorder=\"demo\"} 1\n") }
    for line in [
      "# TYPE odograph_record_stored_total counter", "odograph_record_connected{recorder=\"demo\"} 1",
      "odograph_record_failed{recorder=\"demo\"} 0", "odograph_record_messages_total{recorder=\"demo\"} 1",
      "odograph_record_bytes_total{recorder=\"demo\"} \(one.utf8.count)",
    ] {
      #expect(text().contains("\(line)\n"), "\(line): \(text())")
    }
    #expect(try await record.finish() == 143)
  }

  @Test(.timeLimit(.minutes(6))) func resumesItsSession() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    let record = RecordProcess(broker, into: path, ["--count", "1"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    try await publish(broker, location, payload(1))
    #expect(try await record.waitForEnd() == 0)
    try await publish(broker, location, payload(2))
    try record.start()
    #expect(try await record.waitForEnd() == 0)
    #expect(record.output.contains("1 message stored, 0 known before in \(path)"))
    #expect(try SQLiteReader(path).rows("SELECT seq FROM messages ORDER BY id") == [["1"], ["2"]])
  }

  /// The broker's session still has the topics of an earlier run with the same client ID.
  @Test(.timeLimit(.minutes(6)), arguments: [["--mqtt-v311"], [], ["--share", "group"]])
  func unsubscribesFromTheTopicsOfAnEarlierRun(more: [String]) async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    func record(_ kind: String) -> RecordProcess {
      RecordProcess(
        broker, into: path,
        ["--client-id", "rec-1", "--topic", "odograph/v1/+/+/\(kind)", "--count", "1"] + more,
        state: state)
    }
    let first = record("location")
    try first.start()
    try await broker.waitForLog("Sending SUBACK to rec-1")
    // A killed process leaves its session at the broker.
    first.kill()
    try await eventually { !first.isRunning }
    let second = record("status")
    try second.start()
    try await broker.waitForLog("Sending UNSUBACK to rec-1")
    try await broker.waitForLog("Sending SUBACK to rec-1", times: 2)
    try await publish(broker, location, payload(1))
    try await publish(broker, "odograph/v1/demo/van/status", payload(2))
    #expect(try await second.waitForEnd() == 0)
    #expect(try SQLiteReader(path).rows("SELECT kind, seq FROM messages") == [["status", "2"]])
    #expect(second.count(of: "session rec-1 had other topics: unsubscribes odograph/v1/+/+/location") == 1)
    // Reported by the first run only.
    let third = record("status")
    try third.start()
    try await broker.waitForLog("Sending SUBACK to rec-1", times: 3)
    try await publish(broker, "odograph/v1/demo/van/status", payload(3))
    #expect(try await third.waitForEnd() == 0)
    #expect(third.count(of: "had other topics") == 0)
  }

  @Test(.timeLimit(.minutes(6)), .needs(.postgreSQL))
  func postgreSQLStoresTheSame() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let database = try PostgreSQLFixture()
    let record = RecordProcess(broker, into: database.url, ["--count", "6"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    let now = payload(1, #","speed":2.5"#)
    let old = payload(2).replacingOccurrences(of: "\"time\":\"20", with: "\"time\":\"19")
    let track =
      #"{"time":"2020-01-01T00:00:00.000Z","count":1,"precision":5,"points":"_p~iF~ps|U","times":"?","epoch":"e","seq":3}"#
    let texts = [(location, now), (location, old), (location, now), ("odograph/v1/demo/van/track", track)]
    for (topic, text) in texts { try await publish(broker, topic, text) }
    for _ in 0..<2 { try await publish(broker, "odograph/v1/demo/van/track", track) }
    #expect(try await record.waitForEnd() == 0)
    #expect(
      try database.query("SELECT seq, latitude, speed, payload FROM odograph.messages ORDER BY seq") == [
        ["1", "48.5", "2.5", now], ["2", "48.5", "", old], ["3", "", "", track],
      ])
    #expect(
      try database.query("SELECT latitude, longitude, time AT TIME ZONE 'UTC', place FROM odograph.fixes")
        == [
          ["38.5", "-120.2", "2020-01-01 00:00:00", "0"]
        ])
    let today = String(FleetPayload.time().prefix(10))
    #expect(
      try database.query(
        "SELECT (time AT TIME ZONE 'UTC')::date FROM odograph.messages_\(today.filter { $0 != "-" })") == [
          [today]
        ])
    #expect(try database.query("SELECT count(*) FROM odograph.messages_default") == [["2"]])
  }

  /// Preparation needs no broker, so that databases can be updated and cleaned up manually or by cron.
  @Test(.timeLimit(.minutes(6)), .needs(.postgreSQL)) func preparesAndDeletesWithoutABroker() async throws {
    let directory = try TemporaryDirectory()
    let server = try PostgreSQLFixture()
    for store in [directory.file("fleet.sqlite"), server.url] {
      let port: Int = try FreePort.next()
      let broker = ["--broker", "mqtt://127.0.0.1:\(port)"]
      let first = try await OdographProcess.run(["record", store, "--prepare"] + broker)
      #expect(first.status == 0 && first.output.contains("\(store) is up to date\n"), "\(first.output)")
      let again = try await OdographProcess.run(["record", store, "--prepare", "--keep", "90d"] + broker)
      #expect(again.status == 0 && again.output.contains("deleted messages before "), "\(again.output)")
      #expect(again.output.contains(": 0 partitions, 0 other rows"))
      #expect(again.output.contains("has no PostGIS") == (store == server.url))
      let quiet = try await OdographProcess.run(["record", store, "--prepare", "--quiet"] + broker)
      #expect(quiet.status == 0 && quiet.output.isEmpty, "\(quiet.output)")
    }
  }

  @Test(.timeLimit(.minutes(6))) func deletesOldMessagesWhileItRecords() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    let old = payload(1).replacingOccurrences(of: FleetPayload.time().prefix(4), with: "2024")
    let record = RecordProcess(broker, into: path, ["--count", "2"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    for text in [old, payload(2)] { try await publish(broker, location, text) }
    #expect(try await record.waitForEnd() == 0)
    // The message's own time is too old to be plausible, so the reception time decides. It is set to 1970.
    try SQLiteReader(path).run("UPDATE messages SET received = 0 WHERE seq = 1")
    let next = RecordProcess(broker, into: path, ["--count", "1", "--keep", "30d"], state: state)
    try next.start()
    try await publish(broker, location, payload(3))
    #expect(try await next.waitForEnd() == 0)
    #expect(next.output.contains("0 partitions, 1 other rows"), "\(next.output)")
    #expect(try SQLiteReader(path).rows("SELECT seq FROM messages ORDER BY id") == [["2"], ["3"]])
  }

  @Test(.timeLimit(.minutes(6))) func errorsHaveARemedy() async throws {
    let broker = try BrokerFixture()
    let address = ["--broker", "mqtt://127.0.0.1:\(broker.port)"]
    let port: Int = try FreePort.next()
    let cases: [([String], Int32, String)] = [
      (["/no/such/folder/x.sqlite"], 74, "no such folder:"),
      (["postgres://fleet@127.0.0.1:\(port)/x"], 74, "cannot open postgres://fleet@127.0.0.1:\(port)/x"),
      (["--commit-count", "0"], 64, "--commit-count"),
      (["--keep", "90"], 64, "write days as 90d"), (["--keep", "0d"], 64, "write days as 90d"),
      (["--share", "a/b"], 64, "group"),
      (["--topic", "a", "--vehicle", "b"], 64, "cannot be combined"),
      (["--client-id", ""], 64, "--client-id"), (["--metrics", "record.txt"], 64, "must end in .prom"),
    ]
    for (arguments, status, text) in cases {
      let directory = try TemporaryDirectory()
      var all = ["record"] + arguments + address
      if arguments[0].hasPrefix("-") { all.append(directory.file("x.sqlite")) }
      let result = try await OdographProcess.run(all)
      #expect(result.status == status && result.output.contains(text), "\(arguments): \(result.output)")
      #expect(result.output.hasPrefix("odograph: "))
    }
  }
}
