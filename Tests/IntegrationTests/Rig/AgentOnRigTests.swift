import Foundation
import JSON
import Telemetry
import TestSupport
import Testing

/// The built `odographd` with the rig's sensors.
extension SensorRigTests {
  @Test(.timeLimit(.minutes(4))) func agentPublishesAndSwitchesTheSensorsOff() async throws {
    let rig = try Self.rig()
    let agent = try RigAgent(context: rig.uri)
    try await eventually {
      let kinds = agent.messages.map(\.kind)
      return kinds.filter { $0 == "attitude" }.count > 10 && kinds.contains("heading") || !agent.isRunning
    }
    agent.requestStop()
    try await eventually { !agent.isRunning }
    #expect(agent.exitStatus == 0, "\(agent.output)")
    let last = try #require(agent.messages.last, "\(agent.output)")
    #expect(last.kind == "status" && last.payload["state"]?.string == "offline", "\(agent.output)")
    #expect(agent.sourceStates.count == 3 && agent.sourceStates.values.allSatisfy { $0.last == "active" })
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }
    try expectPowerCycle(rig)
  }

  /// The most common hardware with default settings: the configured reference frame requires a magnetometer.
  @Test(.timeLimit(.minutes(4))) func sixAxesPublishAttitudesInAnAvailableFrame() async throws {
    let rig = try Self.rig()
    let agent = try RigAgent(context: rig.uri, ["iio.magnetometer=off"])
    try await eventually {
      agent.messages.filter { $0.kind == "attitude" }.count > 10
        && agent.messages.contains { $0.kind == "status" && $0.payload["degraded"]?["attitude"] != nil }
        || !agent.isRunning
    }
    agent.requestStop()
    try await eventually { !agent.isRunning }
    #expect(agent.exitStatus == 0, "\(agent.output)")
    let attitudes = agent.messages.filter { $0.kind == "attitude" }
    #expect(attitudes.allSatisfy { $0.payload["frame"]?.string == "xArbitraryZVertical" }, "\(agent.output)")
    #expect(attitudes.allSatisfy { $0.payload["gravity"] != nil && $0.payload["degraded"] == nil })
    #expect(agent.messages.allSatisfy { $0.kind != "heading" })
    let status = try #require(
      agent.messages.last { $0.payload["state"]?.string == "online" }, "\(agent.output)")
    #expect(status.payload["frames"]?.array?.compactMap(\.string) == ["xArbitraryZVertical"])
    let reason = try #require(status.payload["services"]?["heading"]?.string, "\(agent.output)")
    #expect(reason.contains("magnetometer"), "\(reason)")
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }
  }

  @Test(.timeLimit(.minutes(4))) func agentRecoversFromADaemonCrash() async throws {
    let rig = try Self.rig()
    let agent = try RigAgent(context: rig.uri)
    try await expectLossAndReturn(agent) {
      try rig.run("iiod-ctl kill")
    } restore: {
      try rig.run("iiod-ctl start")
    }
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }
  }

  /// The initial problem of the whole context is no longer reported once its devices are available.
  @Test(.timeLimit(.minutes(4))) func agentWaitsForTheDaemon() async throws {
    let rig = try Self.rig()
    try rig.run("iiod-ctl stop")
    let agent = try RigAgent(context: rig.uri)
    try await eventually { !agent.reasons.isEmpty || !agent.isRunning }
    try rig.run("iiod-ctl start")
    try await eventually { agent.messages.filter { $0.kind == "attitude" }.count > 5 || !agent.isRunning }
    agent.requestStop()
    try await eventually { !agent.isRunning }
    #expect(agent.exitStatus == 0, "\(agent.output)")
    let last = try StatusMessage(json: #require(agent.messages.last).payload)
    #expect(last.state == .offline)
    #expect(last.sources.count == 3 && last.sources.allSatisfy { $0.state == "active" }, "\(agent.output)")
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }
  }

  @Test(.timeLimit(.minutes(4))) func agentResumesAReturningDevice() async throws {
    let rig = try Self.rig()
    let agent = try RigAgent(context: rig.uri)
    try await expectLossAndReturn(agent) {
      try rig.command("remove")
    } restore: {
      try rig.command("create")
      try rig.command("idle on")
      // iiod lists the devices that exist when it starts; in a vehicle, udev restarts it.
      try rig.run("iiod-ctl restart")
    }
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }
  }

  /// Calls `cut` once attitudes arrive, `restore` once all sources are reported unavailable, and waits for attitudes again.
  private func expectLossAndReturn(
    _ agent: RigAgent, cut: () throws -> Void, restore: () throws -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    func attitudes() -> Int { agent.messages.filter { $0.kind == "attitude" }.count }
    func isEach(_ state: String) -> Bool {
      let states = agent.sourceStates
      return states.count == 3 && states.values.allSatisfy { $0.last == state }
    }
    do {
      try await eventually { attitudes() > 5 && isEach("active") || !agent.isRunning }
      try cut()
      try await eventually { isEach("unavailable") || !agent.isRunning }
      let before = attitudes()
      try restore()
      try await eventually { attitudes() > before + 5 && isEach("active") || !agent.isRunning }
    } catch let error as CancellationError {
      Issue.record("\(agent.sourceStates) \(agent.output.suffix(600))", sourceLocation: sourceLocation)
      throw error
    }
    agent.requestStop()
    try await eventually { !agent.isRunning }
    #expect(agent.exitStatus == 0, "\(agent.output)", sourceLocation: sourceLocation)
    #expect(
      !agent.reasons.isEmpty && agent.reasons.allSatisfy { !$0.isEmpty }, sourceLocation: sourceLocation)
    let states = agent.sourceStates
    for (source, told) in states {
      #expect(told == ["active", "unavailable", "active"], "\(source)", sourceLocation: sourceLocation)
      #expect(
        agent.lossesLogged(of: source) == 1, "\(source): \(agent.output)", sourceLocation: sourceLocation)
    }
  }
}
