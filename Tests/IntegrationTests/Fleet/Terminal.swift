import Foundation
import TestSupport

/// A real terminal: a tmux server for one test, stopped with this object.
final class Terminal: Sendable {
  private let socket: String
  private let directory: TemporaryDirectory

  /// Runs a shell command in a window of the given size; the window remains after the command.
  init(columns: Int, rows: Int, command: String) async throws {
    directory = try TemporaryDirectory()
    socket = directory.file("tmux")
    // Uses TERM and the locale of a default Debian, independent of the test's environment.
    let shell = "export LC_ALL=C.UTF-8; \(command); exec sleep 600"
    _ = try await runTool(
      "tmux",
      [
        "-u", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "\(columns)", "-y",
        "\(rows)",
        "bash", "-c", shell,
      ])
  }

  deinit {
    _ = try? ChildProcess("tmux", ["-S", socket, "kill-server"]).waitForExit()
  }

  /// The lines of the screen without trailing blanks.
  func screen() async throws -> [String] {
    try await tmux("capture-pane", "-p", "-t", "t").split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  func text() async throws -> String { try await tmux("capture-pane", "-p", "-t", "t") }

  /// A format variable of tmux, for example `cursor_flag` or `alternate_on`.
  func state(_ name: String) async throws -> String {
    try await tmux("display-message", "-p", "-t", "t", "#{\(name)}").trimmingCharacters(
      in: .whitespacesAndNewlines)
  }

  func type(_ keys: String...) async throws { _ = try await tmux(["send-keys", "-t", "t"] + keys) }

  func resize(columns: Int, rows: Int) async throws {
    _ = try await tmux("resize-window", "-t", "t", "-x", "\(columns)", "-y", "\(rows)")
  }

  private func tmux(_ arguments: String...) async throws -> String { try await tmux(arguments) }

  private func tmux(_ arguments: [String]) async throws -> String {
    try await runTool("tmux", ["-u", "-S", socket] + arguments)
  }
}
