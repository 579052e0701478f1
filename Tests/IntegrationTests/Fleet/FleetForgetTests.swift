import Foundation
import TestSupport
import Testing

/// `odograph forget` with a real broker.
@Suite(.timeLimit(.minutes(4))) struct FleetForgetTests {
  private let broker: BrokerFixture

  init() async throws {
    broker = try BrokerFixture()
    for (vehicle, state) in [("van-1", "offline"), ("van-2", "offline"), ("van-3", "online")] {
      let base = "odograph/v1/demo/\(vehicle)/"
      try await publish(
        broker, base + "status", FleetPayload.status(state, session: FleetPayload.time(), seq: 1),
        retain: true)
      try await publish(broker, base + "regions/desired", "{}", retain: true)
      try await publish(broker, base + "of/others", "x", retain: true)
    }
  }

  private func forget(_ arguments: String...) async throws -> OdographProcess.Result {
    try await OdographProcess.run(
      ["forget", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "demo"] + arguments)
  }

  /// Number of retained messages, counted with mosquitto_sub.
  private func retainedCount() async throws -> Int {
    try await runTool(
      "mosquitto_sub",
      ["-p", "\(broker.port)", "-t", "odograph/v1/#", "-F", "%t", "--retained-only", "-W", "1"]
    ).split(separator: "\n").count { $0.hasPrefix("odograph/") }
  }

  @Test func messagesAreListedAndDeletedOnlyWithYes() async throws {
    let shown = try await forget("--vehicle", "van-1")
    #expect(shown.status == 0, "\(shown.output)")
    #expect(shown.output.contains("demo/van-1  of/others, regions/desired, status"), "\(shown.output)")
    #expect(shown.output.contains("--yes") && !shown.output.contains("van-2"))
    #expect(try await retainedCount() == 9)
    let done = try await forget("--vehicle", "van-1", "--yes")
    #expect(
      done.status == 0 && done.output.contains("3 retained messages of 1 vehicle are deleted"),
      "\(done.output)")
    #expect(try await retainedCount() == 6)
    let again = try await forget("--vehicle", "van-1", "--yes")
    #expect(again.status == 0 && again.output.contains("nothing to forget"), "\(again.output)")
  }

  @Test func onlineVehicleIsNotDeleted() async throws {
    let refused = try await forget("--vehicle", "van-2", "--vehicle", "van-3", "--yes")
    #expect(refused.status == 69 && refused.output.contains("demo/van-3"), "\(refused.output)")
    #expect(try await retainedCount() == 9)
    let done = try await forget("--vehicle", "van-3", "--yes", "--online", "--json")
    #expect(done.status == 0 && done.output.contains(#""online":true"#), "\(done.output)")
    #expect(try await retainedCount() == 6)
  }

  @Test func vehicleNameIsRequired() async throws {
    let result = try await forget("--yes")
    #expect(result.status == 64 && result.output.contains("--vehicle"), "\(result.output)")
    #expect(try await retainedCount() == 9)
  }

  @Test func ambiguousNameIsRefused() async throws {
    try await publish(broker, "odograph/v1/other/van-1/status", "{}", retain: true)
    let at = ["--broker", "mqtt://127.0.0.1:\(broker.port)", "--vehicle", "van-1"]
    let shown = try await OdographProcess.run(["forget"] + at)
    #expect(shown.status == 0 && shown.output.contains("other/van-1"), "\(shown.output)")
    let refused = try await OdographProcess.run(["forget", "--yes"] + at)
    #expect(refused.status == 64 && refused.output.contains("demo, other"), "\(refused.output)")
    #expect(try await retainedCount() == 10)
    let done = try await OdographProcess.run(["forget", "--yes", "--fleet", "other"] + at)
    #expect(done.status == 0, "\(done.output)")
    #expect(try await retainedCount() == 9)
  }

  /// If no vehicle is found, the advice names only options of the command.
  @Test(arguments: [
    (["forget", "--vehicle", "van-9"], "name the fleet, too", ""),
    (
      ["history", "--from", "2026-11-21T08:00:00Z", "--fleet", "none"], "name --fleet and --vehicle",
      "--recording"
    ),
    (["samples", "--fleet", "none"], "name --fleet and --vehicle", "--recording"),
    (["command", "locate", "--fleet", "none"], "begin from a recording with --recording", ""),
  ])
  func missingVehicleGetsSuitableAdvice(arguments: [String], advice: String, unknown: String) async throws {
    let run = try await OdographProcess.run(arguments + ["--broker", "mqtt://127.0.0.1:\(broker.port)"])
    #expect(run.status == 69 && run.output.contains(advice), "\(run.output)")
    #expect(unknown.isEmpty || !run.output.contains(unknown), "\(run.output)")
  }
}
