import Foundation
import TestSupport
import Testing

/// `odograph command`, `config` and `regions` with the real agent.
@Suite(.serialized) struct FleetAgentTests {
  private func objects(_ result: OdographProcess.Result) throws -> [[String: Any]] {
    try result.lines.map {
      try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\(result.output)")
    }
  }

  private func odograph(_ broker: BrokerFixture, _ arguments: String...) async throws
    -> OdographProcess.Result
  {
    try await OdographProcess.run(
      arguments + [
        "--host", "127.0.0.1", "--port", "\(broker.port)", "--fleet", "test", "--vehicle", "van",
      ])
  }

  /// Starts an agent and waits for its first location.
  private func agent(_ broker: BrokerFixture, _ directory: TemporaryDirectory, _ remote: String) async throws
    -> ManagedAgent
  {
    let agent = try ManagedAgent(broker, remote: remote, directory: directory)
    let first = try await OdographProcess.run([
      "tail", "--host", "127.0.0.1", "--port", "\(broker.port)", "--kind", "location", "--count", "1",
      "--timeout",
      "120",
    ])
    #expect(first.status == 0, "\(agent.log)")
    return agent
  }

  @Test(.timeLimit(.minutes(8))) func agentAnswersCommands() async throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let agent = try await agent(broker, directory, "enabled = true")
    let locate = try await odograph(broker, "command", "locate", "--json")
    #expect(locate.status == 0, "\(locate.output) \(agent.log)")
    let answer = try #require(objects(locate).first)
    let result = try #require(answer["result"] as? [String: Any])
    #expect(answer["state"] as? String == "done")
    #expect((result["location"] as? [String: Any])?["latitude"] is Double, "\(locate.output)")
    let status = try await odograph(broker, "command", "status", "--json")
    #expect((try objects(status).first?["result"] as? [String: Any])?["state"] as? String == "online")
    let track = try await odograph(broker, "command", "track", "--from", "2020-01-01T00:00:00Z")
    #expect(track.status == 0 && track.output.contains("test/van"), "\(track.output)")
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(8))) func agentAcceptsSettingsAndRegions() async throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let agent = try await agent(broker, directory, "enabled = true")
    let set = try await odograph(broker, "config", "set", "location.distance_filter=35")
    #expect(set.status == 0 && set.output.contains("applied"), "\(set.output) \(agent.log)")
    let show = try await odograph(broker, "config", "show")
    #expect(show.output.contains("location.distance_filter = 35"), "\(show.output)")
    #expect(try await odograph(broker, "config", "diff").status == 0)
    let refused = try await odograph(broker, "config", "set", "mqtt.keepalive=40")
    #expect(
      refused.status == 69 && refused.output.contains("mqtt.keepalive: remote.keys"), "\(refused.output)")
    let file = try directory.write("yard.wkt", "yard: POLYGON ((11 48, 12 48, 12 49, 11 49))\n")
    let push = try await odograph(broker, "regions", "push", file)
    #expect(push.status == 0 && push.output.contains("watches 1 of 1"), "\(push.output) \(agent.log)")
    #expect(try await odograph(broker, "regions", "diff", file).status == 0)
    // The vehicle reports the state, so it is the same for all commands.
    try await eventually {
      try await odograph(broker, "regions", "list").output.contains(
        "yard                      inside since 20")
    }
    let list = try await odograph(broker, "regions", "list", "--json")
    #expect((try objects(list).first?["state"] as? [String: Any])?["source"] as? String == "remote")
    let one = try await odograph(broker, "command", "region-state", "--region", "yard", "--json")
    let answer = try objects(one).first?["result"] as? [String: Any]
    let entry = (answer?["regions"] as? [[String: Any]])?.first
    #expect(entry?["state"] as? String == "inside" && entry?["since"] is String, "\(one.output)")
    let nobody = try await odograph(broker, "command", "region-state", "--region", "nobody")
    #expect(
      nobody.status == 69 && nobody.output.contains("no region \"nobody\" is monitored"), "\(nobody.output)")
    agent.child.terminate()
  }
}
