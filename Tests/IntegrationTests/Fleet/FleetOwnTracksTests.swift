import Foundation
import TestSupport
import Testing

/// An agent with the OwnTracks profile, and commands that receive its messages through a real mosquitto.
@Suite(.serialized) struct FleetOwnTracksTests {
  private func agent(_ broker: BrokerFixture, _ more: [String: String] = [:]) throws -> AgentProcess {
    let settings = [
      "mqtt.broker": "127.0.0.1:\(broker.port)", "mqtt.profile": "owntracks",
      "owntracks.tid": "v1", "input.mode": "simulation", "log.level": "warning",
    ]
    return try AgentProcess(settings.merging(more) { $1 })
  }

  private func odograph(_ broker: BrokerFixture, _ arguments: String...) async throws
    -> OdographProcess.Result
  {
    try await OdographProcess.run(
      arguments + ["--message-profile", "owntracks", "--host", "127.0.0.1", "--port", "\(broker.port)"])
  }

  @Test(.timeLimit(.minutes(6))) func watchTailAndStatsReadTheAgent() async throws {
    let broker = try BrokerFixture()
    let agent = try agent(broker)
    // The time limit bounds the wait: the agent has published its first location.
    let first = try await odograph(broker, "tail", "--kind", "location", "--count", "1", "--timeout", "120")
    let message = try #require(Message.parse(first.output).first, "\(first.output) \(agent.log)")
    #expect(message.topic == "owntracks/test/van" && message.payload["_type"] as? String == "location")
    let once = try await odograph(broker, "watch", "--once", "--json", "--timeout", "30")
    let table = try #require(
      JSONSerialization.jsonObject(with: Data(once.output.utf8)) as? [[String: Any]], "\(once.output)")
    let van = try #require(table.first { $0["vehicle"] as? String == "van" })
    #expect(table.count == 1 && van["fleet"] as? String == "test")
    let latitude = try #require(van["latitude"] as? Double)
    #expect(abs(latitude - (message.payload["lat"] as? Double ?? 0)) < 0.1)
    let stats = try await odograph(broker, "stats", "--json", "--seconds", "4")
    let counts = try #require(
      JSONSerialization.jsonObject(with: Data(stats.output.utf8)) as? [String: Any], "\(stats.output)")
    let vehicles = try #require(counts["vehicles"] as? [[String: Any]])
    #expect(vehicles.count == 1 && counts["unreadable"] as? Int == 0)
    agent.child.signal(SIGTERM)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
  }

  @Test(.timeLimit(.minutes(6))) func recordingHasTheColumns() async throws {
    let broker = try BrokerFixture()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    let record = RecordProcess(broker, into: path, ["--message-profile", "owntracks"], state: state)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    let agent = try agent(broker, ["input.speed": "0", "simulation.duration": "120"])
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    try await eventually {
      try SQLiteReader(path).rows("SELECT 1 FROM messages WHERE event = 'offline'").count == 1
    }
    #expect(try await record.finish() == 143)
    let reader = try SQLiteReader(path)
    #expect(
      try reader.rows("SELECT DISTINCT fleet, vehicle, kind FROM messages ORDER BY kind") == [
        ["test", "van", "location"], ["test", "van", "status"],
      ])
    let locations = try reader.rows(
      "SELECT time, latitude, payload FROM messages WHERE kind = 'location' ORDER BY id")
    #expect(locations.count > 3)
    for row in locations {
      let payload = try #require(
        JSONSerialization.jsonObject(with: Data((row[2] ?? "").utf8)) as? [String: Any])
      #expect(Double(row[1] ?? "") == payload["lat"] as? Double)
      #expect(row[0] == "\((payload["tst"] as? Int ?? 0) * 1000)")
    }
  }

  @Test(.timeLimit(.minutes(6))) func unsupportedKindIsReported() async throws {
    let broker = try BrokerFixture()
    let kind = try await odograph(broker, "tail", "--kind", "attitude")
    #expect(kind.status == 64 && kind.output.contains("has no such messages"), "\(kind.output)")
    let wrong = try await OdographProcess.run(["watch", "--message-profile", "morse"])
    #expect(wrong.status == 64 && wrong.output.contains("must be native or owntracks"), "\(wrong.output)")
  }
}
