import Foundation
import TestSupport
import Testing

/// Completions of the shells with the scripts that the programs print.
@Suite struct CompletionTests {
  /// Creates a folder with the completion script of a shell and files to complete.
  private func folder(_ shell: String, program: String = "odograph") async throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    let script = try await runTool(BuiltProduct.path(program), ["--generate-completion-script", shell])
    _ = try directory.write("_\(program)", script)
    _ = try directory.write("fleet.sqlite", "")
    _ = try directory.write("depots.geojson", "")
    return directory
  }

  private static let cases: [(line: String, words: [String])] = [
    ("odograph rep", ["replay"]), ("odograph config s", ["show", "set"]),
    ("odograph watch --colu", ["--columns"]), ("odograph watch --sort ba", ["battery", "backlog"]),
    ("odograph watch --columns state,ba", ["state,battery", "state,backlog"]),
    ("odograph command re", ["record", "reload", "reset-regions", "region-state"]),
    ("odograph config set status.int", ["status.interval="]),
    ("odograph tail --kind loc", ["location", "location/event"]),
    ("odograph export --format g", ["gpx", "geojson"]), ("odograph export fl", ["fleet.sqlite"]),
    ("odograph regions push dep", ["depots.geojson"]), ("odograph samples --sensor gy", ["gyroscope"]),
  ]

  @Test(.timeLimit(.minutes(6)), arguments: cases) func bash(line: String, words: [String]) async throws {
    let directory = try await folder("bash")
    let found = try await completions(of: line, in: directory)
    #expect(Set(found) == Set(words), "\(line): \(found)")
  }

  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ("odographd ch", ["check"]), ("odographd check --config fl", []),
      ("odographd check --set mqtt.bro", ["mqtt.broker="]), ("odographd sensors --js", ["--json"]),
    ])
  func bashForTheAgent(line: String, words: [String]) async throws {
    let directory = try await folder("bash", program: "odographd")
    let found = try await completions(of: line, in: directory)
    #expect(Set(found) == Set(words), "\(line): \(found)")
  }

  /// Returns the candidates of bash's completion function for the last word of a line.
  private func completions(of line: String, in directory: TemporaryDirectory) async throws -> [String] {
    let program = String(line.prefix { $0 != " " })
    let script = """
      cd '\(directory.file("."))'
      PATH='\(URL(fileURLWithPath: OdographProcess.path).deletingLastPathComponent().path)':$PATH
      compopt() { :; }
      source ./_\(program)
      COMP_LINE='\(line)'
      read -ra COMP_WORDS <<<"$COMP_LINE"
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_POINT=${#COMP_LINE}
      action=$(complete -p \(program))
      [[ $action =~ -F\\ ([^ ]+) ]]
      "${BASH_REMATCH[1]}" \(program) "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let output = try await runTool("bash", ["-c", script])
    return output.split(separator: "\n").map { String($0).trimmingCharacters(in: .whitespaces) }
  }

  /// Completions that the program computes are excluded: fish requests them on a terminal only.
  @Test(.timeLimit(.minutes(6)), arguments: cases.filter { !$0.line.contains("--columns") }) func fish(
    line: String, words: [String]
  ) async throws {
    let directory = try await folder("fish")
    let binaries = URL(fileURLWithPath: OdographProcess.path).deletingLastPathComponent().path
    let script =
      "cd '\(directory.file("."))'; set -x HOME (pwd); set -x PATH '\(binaries)' $PATH; source ./_odograph; complete -C '\(line)'"
    let output = try await runTool("fish", ["--no-config", "-c", script])
    let found = output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    #expect(Set(found).isSuperset(of: words) && !found.isEmpty, "\(line): \(found)")
  }

  /// In a terminal, because zsh completes only there.
  @Test(.timeLimit(.minutes(6))) func zsh() async throws {
    let directory = try await folder("zsh")
    let binaries = URL(fileURLWithPath: OdographProcess.path).deletingLastPathComponent().path
    let terminal = try await Terminal(
      columns: 100, rows: 30,
      command: "cd '\(directory.file("."))'; export PATH='\(binaries)':$PATH PS1='%% '; exec zsh -f")
    try await terminal.type(
      "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -d ./dump; echo re''ady", "Enter")
    try await eventually { try await terminal.text().contains("\nready") }
    for (typed, whole) in [
      ("odograph rep", "odograph replay"), ("odograph watch --colu", "odograph watch --columns"),
      ("odograph watch --sort batt", "odograph watch --sort battery"),
      ("odograph config set status.int", "odograph config set status.interval="),
      ("odograph export fl", "odograph export fleet.sqlite"),
      ("odograph command loc", "odograph command locate"),
    ] {
      try await terminal.type(typed, "Tab")
      try await eventually { try await terminal.text().contains(whole) }
      try await terminal.type("C-u")
    }
  }
}
