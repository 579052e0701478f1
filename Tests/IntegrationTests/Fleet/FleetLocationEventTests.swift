import Foundation
import TestSupport
import Testing

/// Failures and pauses of real agents, as `odograph tail` and `watch` show them.
@Suite(.serialized) struct FleetLocationEventTests {
  @Test(.timeLimit(.minutes(4))) func failuresAndPausesComeWhenTheyHappen() async throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let access = ["--host", "127.0.0.1", "--port", "\(broker.port)", "--timeout", "200"]
    let tail = try OdographProcess.start(
      ["tail", "--topic", "odograph/v1/test/#"] + access, output: directory.file("lines"))
    let watch = try OdographProcess.start(
      ["watch", "--json", "--interval", "0.5"] + access, output: directory.file("watch"))
    defer { for child in [tail, watch] { child.terminate() } }
    func text(_ name: String) throws -> String { try OdographProcess.text(of: directory.file(name)) }
    // Both listen once they have heard this.
    try await publish(
      broker, "odograph/v1/test/first/status",
      FleetPayload.status("online", session: FleetPayload.time(), seq: 1), retain: true)
    for name in ["lines", "watch"] { try await eventually { try text(name).contains("first") } }
    let parked = try AgentProcess([
      "vehicle.id": "parked", "input.mode": "simulation", "simulation.scenario": "parked",
      "input.speed": "20", "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
    ])
    // Nobody listens on port 1.
    let lost = try AgentProcess([
      "vehicle.id": "lost", "gpsd.port": "1", "iio.enabled": "false", "control.socket": "none",
      "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
    ])
    defer { for agent in [parked, lost] { agent.child.terminate() } }
    func events() throws -> [Message] {
      Message.parse(try text("lines")).filter { $0.topic.hasSuffix("/location/event") }
    }
    func names() throws -> Set<String> { Set(try events().compactMap { $0.payload["event"] as? String }) }
    try await eventually { try names().isSuperset(of: ["failed", "paused"]) }
    let failure = try #require(events().first { $0.payload["event"] as? String == "failed" })
    #expect(failure.topic == "odograph/v1/test/lost/location/event" && failure.seq != nil)
    #expect(failure.payload["error"] as? String == "receiverUnavailable")
    #expect((failure.payload["reason"] as? String)?.contains("is gpsd running?") == true)
    #expect(failure.payload["remedy"] is String)
    for summary in ["location failed: the receiver is not available", "location paused"] {
      try await eventually { try text("watch").contains(summary) }
    }
    let lines = try text("lines").split(separator: "\n").filter { $0.contains("/location/event") }
    let told = try directory.write("events", lines.joined(separator: "\n") + "\n")
    let validator = try ContractScript.start("validate.py", stdin: told)
    #expect(validator.waitForExit() == 0, "\(validator.output)")
    #expect(ContractScript.counts(validator.output)["location-event"] == lines.count)
  }
}
