import Foundation
import TestSupport
import Testing

/// The short and the complete help of both programs, and suggestions for mistyped words.
@Suite struct HelpTests {
  private static let programs = ["odograph", "odographd"]

  /// The commands of a program as lists of words.
  private func commands(of program: String) async throws -> [[String]] {
    let dump = try await runTool(BuiltProduct.path(program), ["--experimental-dump-help"])
    let help = try JSONDecoder().decode(ProgramHelp.self, from: Data(dump.utf8))
    func paths(_ command: ProgramHelp.Command, _ path: [String]) -> [[String]] {
      let below = (command.subcommands ?? []).filter { $0.commandName != "help" }
      return [path] + below.flatMap { paths($0, path + [$0.commandName]) }
    }
    return paths(help.command, [])
  }

  @Test(
    .timeLimit(.minutes(2)),
    arguments: [
      ["odograph", "--help"], ["odograph", "export", "--help"], ["odograph", "--version"],
      ["odographd", "--help"], ["odographd", "--version"],
      ["odographd", "check", "--estimate", "--set", "vehicle.id=t"],
      // With a problem, `check` would otherwise exit with status 2.
      [
        "odographd", "check", "--set", "vehicle.id=t", "--set", "input.mode=simulation", "--set",
        "mqtt.broker=mqtt://127.0.0.1:1",
      ],
    ])
  func exitsWithAnErrorIfItsOutputCannotBeWritten(words: [String]) throws {
    let command = #"exec "$0" "$@" >/dev/full 2>/dev/null"#
    let child = try ChildProcess("sh", ["-c", command, BuiltProduct.path(words[0])] + words.dropFirst())
    #expect(child.waitForExit() == 74)
  }

  @Test(.timeLimit(.minutes(6)), arguments: programs)
  func shortHelpFitsOneScreen(program: String) async throws {
    let commands = try await commands(of: program)
    #expect(commands.count > 5)
    for command in commands {
      let text = try await runTool(BuiltProduct.path(program), command + ["-h"])
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      let name = ([program] + command).joined(separator: " ")
      #expect(lines.count <= 23 && lines.allSatisfy { $0.count <= 80 }, "\(name): \(lines.count)\n\(text)")
      #expect(lines.contains { $0.hasPrefix("Usage: \(name)") } && text.contains("--help for all"), "\(text)")
      // Sentences are complete, and broker options are omitted.
      #expect(!text.contains("…") && !text.contains("--psk-file"), "\(text)")
    }
  }

  /// The options of the command are at the end of its help, next to the prompt; those of the broker are above. Lines have at most 80
  /// columns, so that examples can be copied.
  @Test(.timeLimit(.minutes(6)), arguments: programs)
  func completeHelpEndsWithTheCommandsOwnOptions(program: String) async throws {
    for command in try await commands(of: program) {
      let path = BuiltProduct.path(program)
      let long = try await runTool(path, command + ["--help"])
      let same = try await runTool(path, ["help"] + command)
      #expect(long == same && long.contains("Exit codes: "), "\(command)")
      let lines = long.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.allSatisfy { $0.count <= 80 }, "\(long)")
      guard let broker = lines.firstIndex(of: "BROKER:") else { continue }
      #expect(lines.lastIndex(of: "OPTIONS:").map { $0 > broker } == true, "\(long)")
    }
  }

  /// A list whose rows are not indented would be wrapped as one paragraph.
  @Test(.timeLimit(.minutes(6)), arguments: programs)
  func rowsOfListsAreIndented(program: String) async throws {
    let dump = try await runTool(BuiltProduct.path(program), ["--experimental-dump-help"])
    func check(_ command: ProgramHelp.Command) {
      for line in (command.discussion ?? "").split(separator: "\n") where !line.hasPrefix(" ") {
        #expect(!line.contains("  "), "\(command.commandName): \(line)")
      }
      // The parser wraps lines at 80 columns, even within an example.
      for line in (command.discussion ?? "").split(separator: "\n") where line.hasPrefix(" ") {
        #expect(line.count < 80, "\(command.commandName): \(line)")
      }
      command.subcommands?.forEach(check)
    }
    check(try JSONDecoder().decode(ProgramHelp.self, from: Data(dump.utf8)).command)
  }

  /// A narrow terminal wraps long lines itself, so that a copied example has no line break.
  @Test(.timeLimit(.minutes(6))) func examplesHaveNoLineBreakOnANarrowTerminal() async throws {
    let terminal = try await Terminal(
      columns: 50, rows: 400, command: "'\(OdographProcess.path)' regions --help; tput cols")
    try await eventually { try await terminal.text().contains("SUBCOMMANDS:") }
    let text = try await terminal.screen().joined(separator: "\n")
    let example = "  odograph regions push stops.kml --radius 80 --add --fleet delivery"
    #expect(text.contains("\(example.prefix(50))\n\(example.dropFirst(50))\n"), "\(text)")
  }

  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      (["wacth"], "Unknown command 'wacth'. Did you mean 'watch'?"),
      (["config", "shwo"], "Unknown command 'shwo'. Did you mean 'show'?"),
      (["zzz"], "Unknown command 'zzz'. There are watch, tail,"),
      (["watch", "--fleat", "a"], "Unknown option '--fleat'. Did you mean '--fleet'?"),
      (["watch", "--once", "--columns", "batery"], "did you mean battery?"),
      (["watch", "--once", "--sort", "sped"], "did you mean speed?"),
      (["watch", "--once", "--silent", "often"], "must be a time as in 90s, 10m, 2h or 3d"),
      (["watch", "--silent", "10m"], "add --once"),
      (["command", "locat", "--fleet", "a"], "did you mean locate?"),
      (["config", "set", "status.intervall=3", "--fleet", "a"], "did you mean status.interval?"),
    ])
  func mistypedWordGetsASuggestion(words: [String], message: String) async throws {
    let result = try await OdographProcess.run(words)
    #expect(result.status == 64 && result.output.contains(message), "\(result.output)")
  }

  @Test(.timeLimit(.minutes(6))) func agentSuggestsCommands() async throws {
    let directory = try TemporaryDirectory()
    let child = try ChildProcess(
      BuiltProduct.path("odographd"), ["chek"], output: directory.file("output"))
    try await eventually { !child.isRunning }
    #expect(child.waitForExit() == 64)
    let text = try OdographProcess.text(of: directory.file("output"))
    #expect(text.contains("Unknown command 'chek'. Did you mean 'check'?"), "\(text)")
  }
}
