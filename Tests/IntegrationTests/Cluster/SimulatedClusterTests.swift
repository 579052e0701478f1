import Foundation
import TestSupport
import Testing

/// Several processes simulate one fleet at a cluster while a node is killed: the messages sent by each are compared with the recording.
@Suite(.serialized) struct SimulatedClusterTests {
  @Test(.timeLimit(.minutes(10)), .needs(.rabbitMQ)) func threePartsWithAKilledNode() async throws {
    let cluster = try ClusterFixture(
      .rabbitMQ, ["dashboard", "simulator"], extra: ["user simulator", "topic write odograph/v1/#"])
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    let record = RecordProcess(
      into: path,
      ["--from", cluster.queueAddress(), "--queue", "odograph-parts"] + cluster.options(of: "dashboard"),
      state: state)
    try record.start()
    try await eventually {
      try cluster.control(1, "list_queues", "name", "consumers").contains("odograph-parts\t1")
    }
    let told = (1...3).map { state.file("told-\($0).jsonl") }
    let parts = try told.enumerated().map { index, file in
      try OdographProcess.start(
        [
          "simulate", "--vehicles", "30", "--rate", "4", "--seconds", "15", "--seed", "3", "--part",
          "\(index + 1)/3", "--told", file, "--broker", cluster.address(first: index), "--mqtt-v311",
        ] + cluster.options(of: "simulator"), output: state.file("simulate-\(index).out"))
    }
    let reader = try SQLiteReader(path)
    try await eventually {
      (try reader.rows("SELECT count(DISTINCT vehicle) FROM messages WHERE seq > 5").first?[0]) == "30"
    }
    try cluster.act("kill", 2)
    try await Task.sleep(for: .seconds(4))
    try await onThread { try cluster.act("up", 2) }
    try await eventually { !parts.contains { $0.isRunning } }
    for index in parts.indices {
      let said = try OdographProcess.text(of: state.file("simulate-\(index).out"))
      #expect(parts[index].waitForExit() == 0, "\(said)")
    }
    func verify() async throws -> OdographProcess.Result {
      try await OdographProcess.run(["verify"] + told + ["--recording", path])
    }
    try await eventually { try await verify().status == 0 }
    let said = try await verify().output
    #expect(said.contains("0 missing, 0 doubled"), "\(said)")
    print("simulate: \(said.suffix(200))")
    #expect(try await record.finish() == 143)
  }
}
