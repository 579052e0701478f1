import Foundation
import TestSupport
import Testing

/// The documentation matches the programs: all commands and configurations that it shows are run.
@Suite(.serialized) struct DocumentationTests {
  /// Shell commands, TOML, JSON, Swift, Python, JavaScript and SQL in README, CONTRIBUTING, `Config`, the DocC articles and all `--help`
  /// texts.
  @Test(.timeLimit(.minutes(30)), .needs(.postgreSQL), .needs(.node)) func everyExampleRuns() async throws {
    let database = try PostgreSQLFixture()
    let run = try await script("examples.py", [database.url])
    #expect(run.status == 0, "\(run.output)")
    let counts = ContractScript.counts(run.output)
    print("examples run: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
    for kind in [
      "commands", "outputs", "configurations", "messages", "programs", "programs in python",
      "programs in javascript",
      "programs in sql",
    ] {
      #expect(counts[kind] ?? 0 > 0, "no \(kind) found")
    }
  }

  /// Linked packages and libraries are listed with their licences.
  @Test(.timeLimit(.minutes(5))) func linkedPackagesAreListed() async throws {
    let run = try await script("licences.py", [])
    #expect(run.status == 0, "\(run.output)")
    #expect(ContractScript.counts(run.output)["named"] ?? 0 > 10)
  }

  private func script(_ name: String, _ arguments: [String]) async throws -> OdographProcess.Result {
    let programs = URL(fileURLWithPath: OdographProcess.path).deletingLastPathComponent().path
    let child = try ChildProcess(
      ContractScript.python,
      ["\(ContractScript.repository)/Tests/Documentation/\(name)", programs] + arguments)
    try await eventually { !child.isRunning }
    return OdographProcess.Result(status: child.waitForExit(), output: child.output)
  }
}
