import Foundation
import TestSupport
import Testing

/// Common behaviour of all commands: help with examples, completions, profiles and clear errors.
@Suite struct CommandConventionTests {
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      "watch", "tail", "stats", "record", "export", "replay", "check", "command", "config", "regions",
      "history", "samples", "trace", "forget", "simulate", "verify", "serve", "alerts", "access",
    ])
  func helpHasExamplesAndExitCodes(command: String) async throws {
    let help = try await OdographProcess.run([command, "--help"])
    #expect(help.status == 0 && help.output.contains("Examples:") && help.output.contains("Exit codes:"))
    #expect(help.output.contains("odograph \(command)"))
    let wrong = try await OdographProcess.run([command, "--no-such-option"])
    #expect(wrong.status == 64 && wrong.output.contains("Error: "))
  }

  /// Examples fit into a terminal of 80 columns, so that they can be copied.
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ["watch"], ["tail"], ["stats"], ["record"], ["export"], ["replay"], ["check"], ["command"], ["config"],
      ["config", "show"], ["config", "set"], ["config", "diff"], ["regions"], ["regions", "list"],
      ["regions", "push"], ["regions", "remove"], ["regions", "diff"], ["history"], ["samples"], ["forget"],
      ["simulate"], ["verify"], ["serve"], ["trace"], ["trace", "list"], ["trace", "request"],
      ["trace", "fetch"],
      ["trace", "wait"], ["trace", "verify"], ["trace", "export"], ["alerts"], ["alerts", "list"],
      ["alerts", "check"], ["alerts", "test"], ["alerts", "silence"], ["alerts", "retry"], ["access"],
      ["access", "password"], ["access", "token"],
    ])
  func examplesFitALine(command: [String]) async throws {
    try checkExamples(of: try await OdographProcess.run(command + ["--help"]).output)
  }

  @Test(
    .timeLimit(.minutes(6)), arguments: ["run", "check", "status", "sensors", "dead-letters", "support"])
  func theAgentsExamplesFitALine(command: String) async throws {
    try checkExamples(of: try await runTool(BuiltProduct.path("odographd"), [command, "--help"]))
  }

  private func checkExamples(of help: String) throws {
    let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
    let begin = try #require(lines.firstIndex { $0.hasSuffix("Examples:") })
    #expect(!help.contains("# Exit codes"))
    var isContinued = false
    for line in lines[(begin + 1)...].prefix(while: { !$0.isEmpty }) {
      #expect(isContinued || line.contains("odograph") || line.contains(" | \\"), "broken: \(line)")
      #expect(line.count < 80 && line.hasPrefix("  "), "\(line)")
      isContinued = line.hasSuffix("\\")
    }
  }

  @Test(.timeLimit(.minutes(6)), arguments: ["bash", "zsh", "fish"]) func completions(shell: String)
    async throws
  {
    let script = try await OdographProcess.run(["--generate-completion-script", shell])
    #expect(
      script.status == 0 && script.output.contains("simulate") && script.output.contains("password-file"))
    let command = try await OdographProcess.run(["completion", shell])
    #expect(command.status == 0 && command.output == script.output)
    let help = try await OdographProcess.run(["completion", "--help"])
    #expect(help.output.contains("odograph completion \(shell) >~/."))
  }

  @Test(.timeLimit(.minutes(6))) func completionRequiresAKnownShell() async throws {
    let result = try await OdographProcess.run(["completion", "tcsh"])
    #expect(result.status == 64 && result.output.contains("'bash', 'zsh' or 'fish'"))
  }

  /// Each command that connects names the origin of the address and the next steps.
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ["watch"], ["watch", "--once"], ["tail"], ["stats"], ["check"], ["record"],
      ["trips"], ["events"], ["simulate"], ["forget", "--vehicle", "a"],
      ["command", "locate", "--vehicle", "a"],
      ["config", "show"], ["config", "diff"], ["config", "set", "location.error_bound=50", "--vehicle", "a"],
      ["regions", "list"], ["regions", "remove", "--all", "--vehicle", "a"], ["samples", "--vehicle", "a"],
      ["history", "--vehicle", "a", "--from", "2026-11-21T08:00:00Z", "--to", "2026-11-21T08:01:00Z"],
      ["trace", "request", "a"],
    ])
  func unreachableBrokerIsExplained(command: [String]) async throws {
    let port: Int = try FreePort.next()
    let directory = try TemporaryDirectory()
    let store = command == ["record"] ? [directory.file("fleet.sqlite")] : []
    let result = try await OdographProcess.run(command + store + ["--broker", "mqtt://127.0.0.1:\(port)"])
    #expect(result.status == 69, "\(result.output)")
    #expect(
      result.output.contains("the address 127.0.0.1:\(port) is from --broker; no profile is used"),
      "\(result.output)")
    #expect(result.output.contains("start a broker with: mosquitto -p \(port); or "), "\(result.output)")
  }

  @Test(.timeLimit(.minutes(6))) func profileProvidesBrokerAndFleet() async throws {
    let broker = try BrokerFixture()
    try await publish(
      broker, "odograph/v1/a/van/status", FleetPayload.status("online", session: "", seq: 1), retain: true)
    try await publish(
      broker, "odograph/v1/b/bus/status", FleetPayload.status("online", session: "", seq: 1), retain: true)
    let directory = try TemporaryDirectory()
    let file = try directory.write(
      "profile.toml",
      "[default]\nbroker = \"mqtt://127.0.0.1:\(broker.port)\"\nfleet = \"a\"\n\n[wrong]\nbroker = \"http://x\"\n"
    )
    let table = try await OdographProcess.run(["watch", "--once", "--json", "--profile-file", file])
    #expect(
      table.status == 0 && table.output.contains("\"van\"") && !table.output.contains("\"bus\""),
      "\(table.output)")
    // Options take precedence over the profile.
    let other = try await OdographProcess.run([
      "watch", "--once", "--json", "--profile-file", file, "--fleet", "b",
    ])
    #expect(other.output.contains("\"bus\"") && !other.output.contains("\"van\""))
    let wrong = try await OdographProcess.run([
      "stats", "--once", "--profile-file", file, "--profile", "wrong",
    ])
    #expect(wrong.status == 64 && wrong.output.contains("must start with mqtt:// or mqtts://"))
    let unknown = try await OdographProcess.run([
      "stats", "--once", "--profile-file", file, "--profile", "none",
    ])
    #expect(unknown.status == 64 && unknown.output.contains("it has default, wrong"))
    let absent = try await OdographProcess.run(["stats", "--once", "--profile-file", "/nonexistent"])
    #expect(absent.status == 64 && absent.output.contains("no such file"))
  }

  @Test(.timeLimit(.minutes(6))) func statsEndAfterACount() async throws {
    let broker = try BrokerFixture()
    for vehicle in ["a", "b", "c"] {
      try await publish(
        broker, "odograph/v1/x/\(vehicle)/status", FleetPayload.status("online", session: "", seq: 1),
        retain: true
      )
    }
    let at = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    let counted = try await OdographProcess.run(["stats", "--json", "--count", "3"] + at)
    #expect(counted.status == 0 && counted.output.contains("\"messages\":3"), "\(counted.output)")
    let missed = try await OdographProcess.run(["stats", "--count", "4", "--seconds", "1"] + at)
    #expect(missed.status == 75 && missed.output.contains("3 of 4 messages came"), "\(missed.output)")
    let wrong = try await OdographProcess.run(["stats", "--count", "0"] + at)
    #expect(wrong.status == 64 && wrong.output.contains("--count must be 1 or more"), "\(wrong.output)")
  }

  /// Hostile names and payloads at a real broker are counted and shown, but never printed unescaped.
  @Test(.timeLimit(.minutes(6))) func hostileMessagesAreCounted() async throws {
    let broker = try BrokerFixture()
    for (topic, payload) in [
      ("odograph/v1/demo/\u{2028}van/location", #"{"time":1}"#),
      ("odograph/v1/demo/van/location", "\u{1}\u{2}"),
      ("odograph/v1/demo/van/status", #"{"state":"online","time":"9999","seq":1e400}"#),
      ("odograph/v1/demo/\u{202E}nav/status", FleetPayload.status("online", session: "", seq: 1)),
    ] { try await publish(broker, topic, payload, retain: true) }
    let at = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    let table = try await OdographProcess.run(["watch", "--once"] + at)
    #expect(table.status == 0 && !table.output.contains("\u{1B}") && !table.output.contains("\u{202E}"))
    #expect(table.output.contains("nav"))
    let counts = try await OdographProcess.run(["stats", "--once", "--seconds", "1"] + at)
    #expect(counts.status == 0 && !counts.output.contains("\u{1B}") && counts.output.contains("kept before"))
  }
}
