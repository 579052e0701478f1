package import ArgumentParser
internal import Bytes
internal import Glibc
internal import Telemetry

/// Runs a program's commands, with a short help of one screen, and a suggestion for a mistyped command. The
/// parser does everything else.
package enum CommandProgram {
  /// The action for the words of a command line before parsing.
  enum Answer: Hashable {
    /// Help for the command at the end of a path, without the program's name.
    case help(path: [String], isShort: Bool)
    /// A word that is not a command at the path.
    case unknown(word: String, path: [String], commands: [String])
    case parse
  }

  /// Exits the process after printing help or an error.
  package static func main<Root: ParsableCommand>(_ root: Root.Type) {
    reportLostOutput()
    let words = Array(CommandLine.arguments.dropFirst())
    switch answer(to: words, of: root) {
    case .parse: break
    case .help(let path, let isShort):
      if isShort {
        guard let help = help(of: root, path: path) else { break }
        print(help.short(width: max(40, min(columns, 100))).joined(separator: "\n"))
      } else {
        guard let text = longHelp(of: root, path: path) else { break }
        print(text)
      }
      return
    case .unknown(let word, let path, let commands):
      let name = ([root.name] + path).joined(separator: " ")
      let meant =
        Spelling.nearest(to: word, among: commands).map { "Did you mean '\($0)'?" }
        ?? "There are \(commands.joined(separator: ", "))."
      writeError(
        "Error: Unknown command '\(word.prefix(80))'. \(meant)\nUsage: \(name) <command> [options]\n"
          + "  See '\(name) -h' for the commands.\n")
      root.exit(withError: ExitCode.validationFailure)
    }
    if words == ["--generate-completion-script", "bash"] {
      print(completionScript(of: root, for: .bash))
      return
    }
    root.main(nil)
  }

  /// Makes the process exit with `EX_IOERR` if its output could not be written, for example to a full disk. A
  /// reader that closed the pipe is not an error.
  private static func reportLostOutput() {
    _ = unsafe on_exit(
      { status, _ in
        // Exit statuses 1 and 2 are results: differences, and findings of a check. Other failures have their
        // own message.
        guard fflush(nil) != 0, (0...2).contains(status), errno != EPIPE else { return }
        let cause = unsafe String(cString: strerror(errno))
        CommandProgram.writeError("Error: cannot write standard output: \(cause)\n")
        _exit(74)
      }, nil)
  }

  /// Returns the short help of the command at the end of a path; nil if there is none.
  static func help(of root: any ParsableCommand.Type, path: [String]) -> HelpText? {
    command(of: root, path: path).map { HelpText(of: description(of: $0, root: root, path: path)) }
  }

  /// - Parameter path: names of the command and those above it, without the program's.
  static func description(
    of command: any ParsableCommand.Type, root: any ParsableCommand.Type, path: [String]
  ) -> CommandDescription {
    CommandDescription(
      of: command, name: ([root.name] + path).joined(separator: " "),
      help: root.helpMessage(for: command, columns: 100_000))
  }

  /// Returns the parser's help of the command at the end of a path; nil if there is none. Its lines have 80 to
  /// 100 columns: a narrower terminal continues them, so that an example can be copied.
  static func longHelp(of root: any ParsableCommand.Type, path: [String]) -> String? {
    guard let command = command(of: root, path: path) else { return nil }
    let width = max(80, min(columns, 100))
    let lines = root.helpMessage(for: command, columns: width)
      .split(separator: "\n", omittingEmptySubsequences: false)
    // The parser wraps everything else, and describes `-h` and `--help` as the same.
    let (usage, option) = ("USAGE:", "Show help information.")
    return lines.flatMap { line in
      if line.hasPrefix(usage) {
        return TextLayout.lines(
          String(line.dropFirst(usage.count)), width: width, indent: usage.count + 1, first: usage)
      }
      return [
        line.hasSuffix(option)
          ? line.dropLast(option.count) + "Show all of this; -h shows one screen." : String(line)
      ]
    }.joined(separator: "\n")
  }

  private static func command(
    of root: any ParsableCommand.Type, path: [String]
  ) -> (any ParsableCommand.Type)? {
    var command = root
    for name in path {
      guard let next = command.configuration.subcommands.first(where: { $0.name == name }) else { return nil }
      command = next
    }
    return command
  }

  static func answer(to words: [String], of root: any ParsableCommand.Type) -> Answer {
    // The calls of completion scripts contain words of other commands.
    if words.first?.hasPrefix("---") == true || words.first?.hasPrefix("--generate-") == true {
      return .parse
    }
    var command = root
    var path: [String] = []
    var rest = words[...]
    var isLong = false
    if rest.first == "help" {
      isLong = true
      rest.removeFirst()
    }
    while let place = rest.firstIndex(where: { !$0.hasPrefix("-") }),
      !command.configuration.subcommands.isEmpty
    {
      let commands = command.configuration.subcommands
      guard let next = commands.first(where: { $0.name == rest[place] }) else {
        return .unknown(word: rest[place], path: path, commands: commands.map { $0.name })
      }
      command = next
      path.append(rest[place])
      rest = rest[(place + 1)...]
    }
    let options = words.prefix { $0 != "--" }
    if isLong || options.contains("--help") { return .help(path: path, isShort: false) }
    let isGroup = !command.configuration.subcommands.isEmpty
    if options.contains("-h") || isGroup && rest.isEmpty { return .help(path: path, isShort: true) }
    return .parse
  }

  private static func writeError(_ text: String) {
    let bytes = Array(text.utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Width of the terminal on standard output; 80 without one.
  private static var columns: Int {
    var window = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else { return 80 }
    return Int(window.ws_col)
  }

  /// Returns the parser's completion script for a shell. That for bash is modified to add no blank after a
  /// completion that a value follows, as in `speed=` or `battery,`.
  package static func completionScript<Root: ParsableCommand>(
    of root: Root.Type, for shell: CompletionShell
  ) -> String {
    let script = root.completionScript(for: shell)
    guard shell == .bash else { return script }
    let name = root.name
    return script + """

      _\(name)_without_blank() {
          _\(name) "$@"
          [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *[=,] ]] && compopt -o nospace
          return 0
      }
      complete -o filenames -F _\(name)_without_blank \(name)
      """
  }
}

extension ParsableCommand {
  /// The name on the command line. Every command states it.
  static var name: String { configuration.commandName ?? "" }
}
