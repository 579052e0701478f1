import Foundation
import Glibc
import TestSupport
import Testing

/// No message between broker and database is lost or stored twice, whichever process is killed.
@Suite(.serialized) struct RecordChaosTests {
  /// SIGKILL of the recorder under load, with SQLite.
  @Test(.timeLimit(.minutes(20))) func killedRecorder() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    let record = RecordProcess(broker, into: path, state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    let reader = try SQLiteReader(path)
    func stored() throws -> Int {
      try reader.rows("SELECT max(id) FROM messages").first?[0].flatMap(Int.init) ?? 0
    }
    let cycles = ChaosExtent.cycles(short: 5, full: 50)
    for _ in 0..<cycles {
      load.publish(2000)
      let before = try stored()
      // Some messages are stored, others are in transit.
      try await eventually { try stored() > before }
      record.kill()
      try record.start()
    }
    try await eventually { load.isSettled }
    try await eventually { try stored() >= load.published }
    #expect(try await record.finish() == 143)
    #expect(load.published == 2000 * cycles)
    expectEqual(try reader.rows(FleetLoad.query("messages")).map { $0.compactMap { $0 } }, load.expected)
    print("record killed \(cycles) times: \(load.published) messages, each there once")
  }

  /// SIGKILL of the broker, which stores its sessions on disk, while it has a backlog and while it delivers it.
  @Test(.timeLimit(.minutes(20))) func killedBroker() async throws {
    let broker = try BrokerFixture([
      "allow_anonymous true", "persistence true", "persistence_location DIRECTORY/", "autosave_interval 3600",
    ])
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    let record = RecordProcess(broker, into: path, ["--commit-count", "50"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    let reader = try SQLiteReader(path)
    func stored() throws -> Int {
      try reader.rows("SELECT max(id) FROM messages").first?[0].flatMap(Int.init) ?? 0
    }
    let cycles = ChaosExtent.cycles(short: 3, full: 20)
    for _ in 0..<cycles {
      record.kill()
      load.publish(3000)
      try await eventually { load.isSettled }
      // A killed broker loses acknowledged messages that it has not written yet, which no consumer can compensate. It therefore writes its
      // database first.
      let saves = broker.logCount("Saving in-memory database")
      broker.signal(SIGUSR1)
      try await broker.waitForLog("Saving in-memory database", times: saves + 1)
      try await eventually { broker.hasSavedDatabase }
      broker.kill()
      try broker.start()
      let before = try stored()
      try record.start()
      try await eventually { try stored() > before }
      // The restarted broker repeats the earlier backlog, including delivered messages.
      broker.kill()
      try broker.start()
      try await eventually { try stored() >= load.published }
    }
    #expect(try await record.finish() == 143)
    expectEqual(try reader.rows(FleetLoad.query("messages")).map { $0.compactMap { $0 } }, load.expected)
    print("broker killed \(2 * cycles) times: \(load.published) messages, each there once")
  }

  /// SIGKILL of PostgreSQL under load: the recorder waits for it.
  @Test(.timeLimit(.minutes(20)), .needs(.postgreSQL))
  func killedDatabase() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let database = try PostgreSQLFixture()
    let record = RecordProcess(broker, into: database.url, ["--buffer", "500"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    func stored() throws -> Int {
      try database.query("SELECT count(*) FROM odograph.messages").first?.first.flatMap(Int.init) ?? 0
    }
    let cycles = ChaosExtent.cycles(short: 3, full: 20)
    for cycle in 1...cycles {
      let before = try stored()
      load.publish(2000)
      try await eventually { try stored() > before }
      database.kill()
      load.publish(2000)
      try await eventually { record.count(of: "nothing is acknowledged to the broker") == cycle }
      try database.start()
      try await eventually { record.count(of: "again") >= cycle }
    }
    try await eventually { load.isSettled }
    try await eventually { try stored() >= load.published }
    #expect(try await record.finish() == 143)
    let rows = try database.query(FleetLoad.query("odograph.messages") + " ORDER BY vehicle COLLATE \"C\"")
    expectEqual(rows, load.expected)
    #expect(try database.query(FleetLoad.stale) == [["0"]])
    // Each outage is reported once.
    #expect(record.count(of: "nothing is acknowledged to the broker") == cycles)
    print("PostgreSQL killed \(cycles) times: \(load.published) messages, each there once")
  }

  /// SIGKILL of the recorder after the latest positions were written to PostgreSQL, but before their messages: the messages are
  /// redelivered.
  @Test(.timeLimit(.minutes(10)), .needs(.postgreSQL))
  func recorderKilledBetweenPositionsAndMessages() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let database = try PostgreSQLFixture()
    let record = RecordProcess(broker, into: database.url, state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    func stored() throws -> String { try database.query("SELECT count(*) FROM odograph.messages")[0][0] }
    let cycles = ChaosExtent.cycles(short: 3, full: 20)
    load.publish(50)
    try await eventually { try stored() == "50" }
    for cycle in 1...cycles {
      // The lock blocks writes to the table of messages only.
      let lock = try ChildProcess(
        "psql",
        [
          "-X", "-q", "-c", "BEGIN; LOCK TABLE odograph.messages IN SHARE MODE; SELECT pg_sleep(600) AS held",
          database.url,
        ])
      try await eventually {
        try database.query("SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock' AND granted")[0][0] != "0"
      }
      load.publish(50)
      // At least one batch of positions is written.
      try await eventually { try database.query(FleetLoad.stale) != [["0"]] }
      #expect(try stored() == "\(50 * cycle)")
      record.kill()
      _ = try await record.waitForEnd()
      _ = try database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
      )
      _ = lock.waitForExit()
      #expect(try stored() == "\(50 * cycle)")
      try record.start()
      try await eventually { try stored() == "\(50 * (cycle + 1))" }
      #expect(try database.query(FleetLoad.stale) == [["0"]])
    }
    #expect(try await record.finish() == 143)
    let rows = try database.query(FleetLoad.query("odograph.messages") + " ORDER BY vehicle COLLATE \"C\"")
    expectEqual(rows, load.expected)
  }

  private func expectEqual(_ rows: [[String]], _ expected: [[String]]) {
    let sorted = rows.sorted { $0[0] < $1[0] }
    for (row, wanted) in zip(sorted, expected) { #expect(row == wanted) }
    #expect(rows.count == expected.count)
  }
}
