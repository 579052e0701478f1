import Foundation
import TestSupport
import Testing

/// Several processes simulate one fleet; the messages sent by each are compared with the recordings and with a subscriber's lines.
@Suite struct SimulatedPartsTests {
  private func object(_ text: String) throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
  }

  @Test(.timeLimit(.minutes(10))) func threeProcessesWithTwoRecorders() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let at = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    let stores = (0..<2).map { directory.file("fleet-\($0).sqlite") }
    let records = stores.map { RecordProcess(broker, into: $0, ["--share", "recorders"], state: directory) }
    for record in records { try record.start() }
    try await broker.waitForLog("Sending SUBACK to odograph-record", times: 2)
    let heard = directory.file("heard.jsonl")
    let tail = try OdographProcess.start(["tail", "--qos", "1"] + at, output: heard)
    try await broker.waitForLog("Sending SUBACK", times: 3)
    let told = (1...3).map { directory.file("told-\($0).jsonl") }
    let parts = try told.enumerated().map { index, file in
      try OdographProcess.start(
        [
          "simulate", "--vehicles", "50", "--rate", "5", "--seconds", "4", "--seed", "3", "--part",
          "\(index + 1)/3", "--told", file, "--outages", "600", "--outage-seconds", "1", "--json",
        ] + at, output: directory.file("simulate-\(index)"))
    }
    for part in parts { #expect(part.waitForExit() == 0, "\(part.output)") }
    func verify(_ more: [String]) async throws -> (status: Int32, result: [String: Any]) {
      let run = try await OdographProcess.run(["verify"] + told + ["--json"] + more)
      return (run.status, try object(run.output))
    }
    let recordings = stores.flatMap { ["--recording", $0] }
    try await eventually { try await verify(recordings).status == 0 }
    let (_, whole) = try await verify(recordings)
    let count = try #require(whole["acknowledged"] as? Int)
    #expect(whole["vehicles"] as? Int == 50 && count > 50 * 18 && whole["arrived"] as? Int == count)
    #expect(whole["doubled"] as? Int == 0 && whole["untold"] as? Int == 0)
    // The subscriber's lines contain the same messages.
    tail.signal(SIGINT)
    #expect(tail.waitForExit() == 130)
    #expect(try await verify(["--lines", heard]).result["arrived"] as? Int == count)
    for record in records { #expect(try await record.finish() == 143) }

    // A deleted message is reported as missing, a repeated one as doubled.
    let lost = try SQLiteReader(stores[0]).rows(
      "SELECT vehicle, seq FROM messages WHERE seq = 7 AND kind = 'location' ORDER BY vehicle LIMIT 1")[0]
    let vehicle = try #require(lost[0])
    try await run("DELETE FROM messages WHERE vehicle = '\(vehicle)' AND seq = 7", in: stores[0])
    let less = try await OdographProcess.run(["verify"] + told + recordings)
    #expect(less.status == 1)
    #expect(less.output.contains("simulation/\(vehicle), epoch ") && less.output.contains(": missing 7\n"))
    #expect(less.output.contains("\(count - 1) arrived, 1 missing, 0 doubled"), "\(less.output)")
    let twice = try await verify(recordings + ["--recording", stores[1]])
    #expect(twice.status == 1 && twice.result["doubled"] as? Int ?? 0 > 0)
    let mistaken = try await OdographProcess.run(["verify", told[0], told[0]] + recordings)
    #expect(mistaken.status == 64 && mistaken.output.contains("name each file once"))
  }

  private func run(_ sql: String, in path: String) async throws {
    let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()"
    let output = try await runTool("python3", ["-c", script, path, sql])
    #expect(output.isEmpty, "\(output)")
  }

  @Test func invalidArgumentsAreRefused() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("told.jsonl")
    try Data("there".utf8).write(to: URL(filePath: file))
    for (arguments, cause) in [
      (["simulate", "--told", file], "already exists; --force replaces it"),
      (["simulate", "--told", file, "--force", "--qos", "0"], "remove one of them"),
      (["simulate", "--vehicles", "3", "--part", "1/4"], "more parts than vehicles"),
      (["verify", file], "line 1: invalid first line"),
      (["verify", file + "x"], "no such file"),
      (["verify", file, "--lines", "-", "--recording", "a"], "cannot be combined with --recording"),
    ] {
      let run = try await OdographProcess.run(arguments)
      #expect(run.status == 64 && run.output.contains(cause), "\(run.output)")
    }
  }
}
