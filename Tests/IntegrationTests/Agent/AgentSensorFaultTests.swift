import TestSupport
import Testing

/// Reports about sensors that are unusable or work with restrictions.
@Suite(.needs(.mounting)) struct AgentSensorFaultTests {
  /// The chip is polled because its buffer cannot be used: log and status contain the reason.
  @Test func reasonForPollingIsReported() async throws {
    try await IIOFixture.run { fixture in
      try IIOChips.addIMU(fixture)
      fixture.removeNode(0)
      let agent = try AgentProcess(
        [
          "input.mode": "hardware", "gpsd.enabled": "false", "iio.contexts": "local:",
          "attitude.interval": "0.02",
        ], print: true)
      let reason = "cannot start the buffer of local: iio:device0 (testimu): No such file or directory"
      #expect(
        waitUntil { agent.log.contains("source restricted") && agent.log.contains(reason) }, "\(agent.log)")
      func status() -> Message? {
        agent.messages.last { message in
          guard message.kind == "status", let sources = message.payload["sources"] as? [[String: Any]] else {
            return false
          }
          return sources.contains { $0["state"] as? String == "active" && $0["reason"] as? String == reason }
        }
      }
      #expect(waitUntil { status() != nil }, "\(agent.messages)")
      let degraded = status()?.payload["degraded"] as? [String: String]
      #expect(degraded?["attitude"]?.contains("40.0 ms instead of 20.0 ms: \(reason)") == true)
      #expect(agent.child.terminate() == 0, "\(agent.log)")
    }
  }

  @Test func unreadableAttributeIsListed() async throws {
    let outputs = try await IIOFixture.run { fixture -> [String] in
      try IIOChips.addIMU(fixture)
      try fixture.makeUnreadable("in_accel_scale", of: 0)
      let settings = [
        "vehicle.id=v", "gpsd.enabled=false", "input.mode=hardware", "iio.contexts=local:",
      ]
      return try [["sensors"], ["sensors", "--json"], ["check"]].map { command in
        let child = try ChildProcess(
          BuiltProduct.path("odographd"), command + settings.flatMap { ["--set", $0] })
        _ = waitUntil(atMost: 300) { !child.isRunning }
        return child.output
      }
    }
    for output in outputs {
      #expect(
        output.contains("read local: iio:device0 (testimu) accel_x scale: Input/output error"), "\(output)")
    }
  }
}
