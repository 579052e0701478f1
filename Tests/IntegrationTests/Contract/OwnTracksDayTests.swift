import Foundation
import TestSupport
import Testing

/// A simulated day in the OwnTracks profile, checked against that format.
@Suite(.serialized) struct OwnTracksDayTests {
  @Test(.timeLimit(.minutes(15))) func dayMatchesTheFormat() throws {
    let directory = try TemporaryDirectory()
    let regions = try RegionsOnRoute(in: directory)
    let agent = try AgentProcess(
      [
        "regions.path": regions.path, "mqtt.profile": "owntracks", "owntracks.tid": "v1",
        "input.mode": "simulation", "input.speed": "0",
        "simulation.duration": "86400", "simulation.start": "2026-11-21T00:00:00Z",
        "heading.enabled": "false", "attitude.enabled": "false", "motion.events": "",
        "log.level": "warning",
      ], print: true)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let check = try ContractScript.start(
      "owntracks.py", ["test", "van"], stdin: agent.directory.file("lines"))
    #expect(check.waitForExit() == 0, "\(check.output)")
    print("owntracks day \(check.output.split(separator: "\n"))")
    let counts = ContractScript.counts(check.output)
    #expect(counts["location"] ?? 0 > 10_000)
    #expect(counts["transition"] ?? 0 > 1)
    // A normal stop publishes the format's `lwt` message.
    #expect(counts["lwt"] == 1)
    #expect(agent.messages.allSatisfy { $0.topic.hasPrefix("owntracks/") })
  }

  @Test(.timeLimit(.minutes(1))) func bothProfilesPublishTogether() throws {
    let agent = try AgentProcess(
      [
        "mqtt.profile": "native,owntracks", "input.mode": "simulation", "input.speed": "0",
        "simulation.duration": "300", "log.level": "warning",
      ], print: true)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let messages = agent.messages
    let native = messages.filter { $0.topic == "odograph/v1/test/van/location" }
    let other = messages.filter { $0.payload["_type"] as? String == "location" }
    #expect(native.count == other.count && !native.isEmpty)
    for (a, b) in zip(native, other) {
      #expect(abs((a.latitude ?? 0) - (b.payload["lat"] as? Double ?? 1)) < 1e-7)
      let speed = (a.payload["speed"] as? Double ?? 0) * 3.6
      #expect(abs(speed - (b.payload["vel"] as? Double ?? -9)) <= 0.5001)
    }
    #expect(messages.last?.state == "offline")
  }
}
