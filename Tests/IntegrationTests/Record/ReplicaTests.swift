import Foundation
import TestSupport
import Testing

/// Queries to a streaming replica while recorders write to its primary.
@Suite(.serialized) struct ReplicaTests {
  /// Commands that read a recording.
  private static let queries: [[String]] = [
    ["export", "STORE", "--format", "csv"], ["export", "STORE", "--format", "jsonl"],
    ["export", "STORE", "--messages"], ["export", "STORE", "--format", "geojson", "--vehicle", "sim-3"],
    ["trips", "--recording", "STORE", "--format", "jsonl"],
    ["events", "--recording", "STORE", "--format", "jsonl"],
    ["trace", "list", "--recording", "STORE"],
  ]

  @Test(.timeLimit(.minutes(15)), .needs(.postgreSQL)) func queriesWhileFourRecordersWrite() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let primary = try PostgreSQLFixture()
    let records = (0..<4).map { _ in
      RecordProcess(broker, into: primary.url, ["--share", "recorders"], state: state)
    }
    for record in records { try record.start() }
    try await broker.waitForLog("Sending SUBACK to odograph-record", times: 4)
    let replica = try PostgreSQLFixture(replicaOf: primary)
    let at = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    let told = state.file("told.jsonl")
    let load = try OdographProcess.start(
      ["simulate", "--vehicles", "200", "--rate", "2", "--seconds", "600", "--told", told] + at,
      output: state.file("load"))
    try await eventually {
      try replica.query("SELECT count(*) FROM odograph.messages")[0][0] != "0"
    }
    func ask(_ question: [String], _ store: String) async throws -> (status: Int32, output: String) {
      let run = try await OdographProcess.run(question.map { $0 == "STORE" ? store : $0 })
      return (run.status, run.output)
    }
    for question in Self.queries {
      let answer = try await ask(question, replica.url)
      #expect(answer.status == 0, "\(question): \(answer.output.prefix(500))")
    }
    load.signal(SIGINT)
    #expect(load.waitForExit() == 130)
    // In the end both databases are complete and give the same results.
    try await eventually {
      try await ask(["verify", told, "--recording", "STORE"], primary.url).status == 0
    }
    for record in records { #expect(try await record.finish() == 143) }
    try await eventually { try replica.hasAll(of: primary) }
    let verified = try await ask(["verify", told, "--recording", "STORE"], replica.url)
    #expect(verified.status == 0 && verified.output.contains(" 0 missing, 0 doubled"), "\(verified.output)")
    for question in Self.queries {
      let (here, there) = try await (ask(question, primary.url), ask(question, replica.url))
      // The final message contains the server's address. Ports alone are not removed, because their digits may occur in positions.
      let isSame =
        here.output.replacing(":\(primary.port)/", with: "")
        == there.output.replacing(":\(replica.port)/", with: "")
      #expect(isSame, "\(question)")
    }
    // A command that writes is refused and names the primary.
    let refused = try await ask(["record", "STORE", "--prepare"], replica.url)
    #expect(refused.status == 74 && refused.output.contains("a read-only replica"), "\(refused.output)")
    #expect(refused.output.contains("name the primary server"))
  }
}
