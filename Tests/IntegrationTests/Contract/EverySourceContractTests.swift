import Foundation
import TestSupport
import Testing

/// Messages of all programs at a real broker, validated against the schemas: a managed `odographd`, `odograph simulate`, `odograph
/// replay`, and requests to vehicles. `WireContractTests` validates long simulated drives.
@Suite(.serialized, .timeLimit(.minutes(8))) struct EverySourceContractTests {
  private static let simulated = ["attitude", "heading", "location", "motion", "status", "track"]

  @Test func everyMessageOfASimulatedFleetValidates() async throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let listener = try await BrokerLines(broker, in: directory)
    try await BrokerLines.simulate(at: broker)
    let counts = try await listener.validated()
    for kind in Self.simulated { #expect(counts[kind] ?? 0 > 0, "\(kind)") }
  }

  /// Option `--times`: times and epochs of a recording are shifted (the default) or unchanged.
  @Test(arguments: ["shift", "keep"]) func everyMessageOfAReplayValidates(times: String) async throws {
    let (drive, directory) = (try RecordedDrive(), try TemporaryDirectory())
    let store = directory.file("fleet.sqlite")
    try await drive.record(into: store, subscription: 1, until: RecordedDrive.isWhole(store)) {
      try await BrokerLines.simulate(at: drive.broker)
      try await publish(drive.broker, "sensors/done", "the last one")
    }
    let broker = try BrokerFixture()
    let listener = try await BrokerLines(broker, in: directory)
    let replay = try await OdographProcess.run(
      [
        "replay", store, "--to-fleet", "again", "--fleet", "demo", "--speed", "max", "--times", times,
        "--broker", "mqtt://127.0.0.1:\(broker.port)",
      ])
    #expect(replay.status == 0, "\(replay.output)")
    let counts = try await listener.validated()
    for kind in Self.simulated { #expect(counts[kind] ?? 0 > 0, "\(kind)") }
    #expect(listener.text.contains("odograph/v1/again/"))
  }

  /// Settings, regions and all commands to a vehicle, and its responses and other messages.
  @Test func everyMessageOfAManagedVehicleValidates() async throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let listener = try await BrokerLines(broker, in: directory)
    let agent = try ManagedAgent(broker, remote: "enabled = true", directory: directory)
    try await eventually { listener.text.components(separatedBy: "van/location").count > 20 }
    let at = ["--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "test", "--vehicle", "van"]
    let regions = try directory.write(
      "regions.wkt", "yard: POLYGON ((11.5 48.1, 11.6 48.1, 11.6 48.2, 11.5 48.1))\n")
    for words in [
      ["config", "set", "location.distance_filter=0", "location.deferral_timeout=1"],
      ["regions", "push", regions],
    ] {
      let result = try await OdographProcess.run(words + at)
      #expect(result.status == 0, "\(words): \(result.output)")
    }
    // Without a response topic, the response is published below the command.
    let arguments = [
      "track": #"{"id":"t","from":"2020-01-01T00:00:00Z"}"#, "level": #"{"id":"l","clear":true}"#,
      "set-odometer": #"{"id":"o","odometer":48213400}"#,
      "set-trip": #"{"id":"p","driver":"A. Jansen","purpose":"delivery"}"#,
      "record": #"{"id":"r","seconds":1}"#, "simulate-location": #"{"id":"s","clear":true}"#,
    ]
    let commands = [
      "locate", "status", "track", "level", "history", "region-state", "zero", "reset-regions",
      "forget-regions",
      "samples", "reload", "set-odometer", "set-trip", "record", "simulate-location", "dance",
    ]
    for name in commands {
      try await publish(
        broker, "odograph/v1/test/van/command/\(name)", arguments[name] ?? #"{"id":"\#(name)"}"#)
    }
    try await eventually {
      commands.allSatisfy { listener.text.contains("van/command/\($0)/response") }
        && listener.text.contains("van/track\"")
    }
    agent.child.terminate()
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let counts = try await listener.validated()
    let kinds = [
      "attitude", "command-request", "command-response", "config-desired", "config-reported", "heading",
      "location",
      "regions-desired", "regions-reported", "regions-state", "status", "track",
    ]
    for kind in kinds { #expect(counts[kind] ?? 0 > 0, "\(kind)") }
  }
}
