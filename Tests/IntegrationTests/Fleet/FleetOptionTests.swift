import Foundation
import TestSupport
import Testing

/// Validation of command options.
@Suite struct FleetOptionTests {
  /// A negative number is refused as an invalid value, not as a missing one.
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ("watch", "--interval"), ("watch", "--timeout"), ("tail", "--timeout"), ("tail", "--count"),
      ("tail", "--qos"), ("stats", "--seconds"), ("stats", "--count"), ("record", "--timeout"),
      ("record", "--commit-count"), ("record", "--commit-interval"), ("record", "--buffer"),
      ("record", "--session-expiry"), ("record", "--count"), ("simulate", "--rate"),
      ("simulate", "--vehicles"), ("simulate", "--seconds"), ("simulate", "--seed"), ("replay", "--speed"),
      ("replay", "--longest-pause"), ("watch", "--port"),
    ])
  func negativeNumbersAreRefused(command: String, option: String) async throws {
    let directory = try TemporaryDirectory()
    let store = ["record", "replay"].contains(command) ? [directory.file("store.sqlite")] : []
    let run = try await OdographProcess.run([command, option, "-1"] + store)
    #expect(run.status == 64, "\(run.output)")
    #expect(!run.output.contains("Missing value") && run.output.contains("-1"), "\(run.output)")
    #expect(run.output.contains(option), "\(run.output)")
  }

  /// The time limit has two option names, in each command that has it.
  @Test(.timeLimit(.minutes(6)), arguments: ["watch", "tail", "stats", "record", "simulate"])
  func timeLimitHasTwoNames(command: String) async throws {
    for name in ["--timeout", "--seconds"] {
      let run = try await OdographProcess.run([command, name, "1e9"])
      #expect(run.status == 64 && run.output.contains("\(name)"), "\(run.output)")
    }
    let help = try await OdographProcess.run([command, "--help"])
    #expect(help.output.contains("--timeout, --seconds <seconds>"))
  }

  @Test(.timeLimit(.minutes(6))) func tailAcceptsJSON() async throws {
    let broker = try BrokerFixture()
    try await publish(broker, "a", "{\"x\":\"\u{202E}1\"}", retain: true)
    let run = try await OdographProcess.run([
      "tail", "--json", "--topic", "a", "--count", "1", "--seconds", "60", "--port", "\(broker.port)",
    ])
    #expect(run.status == 0 && run.output.contains(#""payload":{"x":"\u202e1"}"#), "\(run.output)")
  }

  /// Unreadable retained messages are counted in the table, in JSON and in the statistics.
  @Test(.timeLimit(.minutes(6))) func unreadableMessagesAreReported() async throws {
    let broker = try BrokerFixture()
    try await publish(broker, "odograph/v1/demo/van/location", #"{"time":5}"#, retain: true)
    let at = ["--once", "--port", "\(broker.port)"]
    let table = try await OdographProcess.run(["watch"] + at)
    #expect(
      table.output.contains("van") && table.output.contains("1 message could not be read"), "\(table.output)")
    let objects = try await OdographProcess.run(["watch", "--json"] + at)
    #expect(objects.output.contains(#""unreadable":1"#), "\(objects.output)")
    let counts = try await OdographProcess.run(["stats", "--seconds", "1"] + at)
    #expect(counts.output.contains("1 unreadable"), "\(counts.output)")
  }
}
