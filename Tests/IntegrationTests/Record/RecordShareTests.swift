import Glibc
import TestSupport
import Testing

/// Several recorders share the messages of a fleet.
@Suite(.serialized) struct RecordShareTests {
  @Test(.timeLimit(.minutes(20))) func twoThenFourRecordersLoseNothing() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let paths = (0..<4).map { state.file("fleet-\($0).sqlite") }
    let records = paths.map { path in
      RecordProcess(broker, into: path, ["--share", "recorders"], state: state)
    }
    for record in records[..<2] { try record.start() }
    try await broker.waitForLog("Sending SUBACK to odograph-record", times: 2)
    var readers = try paths[..<2].map { try SQLiteReader($0) }
    func stored(_ index: Int) throws -> Int {
      try readers[index].rows("SELECT count(*) FROM messages").first?[0].flatMap(Int.init) ?? 0
    }
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    load.publish(4000)
    try await eventually { try stored(0) + stored(1) >= 4000 }
    let shares = try (0..<2).map { try stored($0) }
    #expect(shares.allSatisfy { $0 > 400 }, "shares \(shares)")

    for record in records[2...] { try record.start() }
    try await broker.waitForLog("Sending SUBACK to odograph-record", times: 4)
    readers += try paths[2...].map { try SQLiteReader($0) }
    load.publish(20_000)
    try await eventually { try (0..<4).allSatisfy { try stored($0) > shares.min() ?? 0 || $0 < 2 } }
    // Under load, one recorder is killed and one stops normally.
    records[0].kill()
    #expect(try await records[1].finish() == 143)
    try await eventually { load.isSettled }
    // Messages that the broker delivered to the killed recorder wait for its session.
    try records[0].start()
    try await eventually { try (0..<4).reduce(0) { try $0 + stored($1) } >= load.published }
    for index in [0, 2, 3] { #expect(try await records[index].finish() == 143) }

    var seen: [String: Int] = [:]
    for reader in readers {
      for row in try reader.rows("SELECT vehicle, seq FROM messages") {
        seen["\(row[0] ?? "") \(row[1] ?? "")", default: 0] += 1
      }
    }
    #expect(seen.count == load.published)
    // Each message is in one file; only messages in transit to the killed recorder may be in a second one.
    let split = try (0..<4).map { try stored($0) }
    #expect(split.allSatisfy { $0 > 0 }, "shares \(split)")
    print("shared: \(load.published) messages, by recorder \(split)")
  }

  /// Messages delivered to a killed member wait for its session; mosquitto does not redistribute them. A recorder with the same client ID,
  /// on another machine and with another store, receives them.
  @Test(.timeLimit(.minutes(10))) func sessionIsResumedElsewhere() async throws {
    let broker = try BrokerFixture(["allow_anonymous true", "max_inflight_messages 100"])
    let states = try (0..<3).map { _ in try TemporaryDirectory() }
    let paths = states.map { $0.file("fleet.sqlite") }
    let records = zip(["a", "b", "a"], zip(paths, states)).map { name, place in
      RecordProcess(
        broker, into: place.0, ["--share", "recorders", "--client-id", "odograph-\(name)"], state: place.1)
    }
    for record in records[..<2] { try record.start() }
    try await broker.waitForLog("Sending SUBACK to odograph-", times: 2)
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    // The recorder is stopped, so that its share remains unacknowledged or queued until it is killed.
    records[0].signal(SIGSTOP)
    load.publish(2000)
    try await eventually { load.isSettled }
    records[0].kill()
    load.publish(2000)
    try await eventually { load.isSettled }
    var seen: Set<String> = []
    func stored(_ store: Int) throws -> Set<String> {
      // Before the recorder has created its tables, the result is empty.
      Set((try? SQLiteReader(paths[store]).rows("SELECT vehicle, seq FROM messages").map { "\($0)" }) ?? [])
    }
    try records[2].start()
    try await eventually {
      try await Task.sleep(for: .milliseconds(100))
      seen = try stored(0).union(stored(1)).union(stored(2))
      return seen.count >= load.published
    }
    #expect(seen.count == 4000)
    let elsewhere = try stored(2).count
    #expect(elsewhere > 100, "\(elsewhere) stored after the session was resumed")
    for record in records[1...] { #expect(try await record.finish() == 143) }
  }

  /// A member that leaves first receives the messages queued for it, and leaves no session behind.
  @Test(.timeLimit(.minutes(10))) func memberDrainsBeforeItLeaves() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    // The window is much smaller than the backlog: without draining, most messages would be lost.
    let record = RecordProcess(
      broker, into: path, ["--share", "recorders", "--commit-count", "5"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    // The recorder is stopped while the backlog grows.
    record.signal(SIGSTOP)
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    load.publish(400)
    try await eventually { load.isSettled }
    record.signal(SIGTERM)
    record.signal(SIGCONT)
    #expect(try await record.waitForEnd() == 143)
    let reader = try SQLiteReader(path)
    #expect(try reader.rows("SELECT count(*) FROM messages") == [["400"]])
    #expect(broker.logCount("Received UNSUBSCRIBE") >= 2)
  }
}
