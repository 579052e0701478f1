/// The output of `-h`, one screen, from the parser's own description of the commands. The parser writes the complete
/// help.
package struct HelpText {
  /// Lines of a usual terminal, without the one for the next prompt.
  private static let screenRows = 23
  /// Heading of the options common to all commands; shown in the complete help only.
  private static let connection = "Broker"
  private static let longestLabel = 22

  /// Related commands, by their names.
  package struct Group: Hashable, Sendable {
    /// Purpose of the commands.
    let title: String
    let commands: [String]
  }

  private let command: CommandDescription
  private let groups: [Group]
  /// Name with the program's, as in `odograph config set`.
  private let name: String

  /// - Parameters:
  ///   - name: name with the program's, as in `odograph config set`.
  ///   - groups: groups of related subcommands, shown in the short form if there are too many for a line
  ///     each.
  package init(of command: CommandDescription, name: String, groups: [Group] = []) {
    (self.command, self.name, self.groups) = (command, name, groups)
  }

  private var usage: String {
    guard command.subcommands.isEmpty else { return "\(name) <command> [options]" }
    var parts = [name]
    for argument in command.arguments {
      let label = argument.label
      if argument.kind == .positional {
        parts.append(argument.isOptional ? "[\(label)]" : label)
      } else if !argument.isOptional {
        parts.append(
          (argument.names.last ?? "") + (argument.kind == .option ? " <\(argument.valueName)>" : ""))
      }
    }
    return (parts + ["[options]"]).joined(separator: " ")
  }
}

extension HelpText {
  /// Returns one screen of 80 columns: purpose and usage of the command, its own options, and a reference to
  /// the complete help.
  /// - Parameter width: number of columns; lines are truncated to it if necessary.
  package func short(width: Int) -> [String] {
    var lines = TextLayout.lines("\(name): \(command.abstract)", width: width) + [""]
    lines += TextLayout.lines(usage, width: width, indent: 7, first: "Usage:") + [""]
    let rest = footer(width: width)
    guard command.subcommands.isEmpty else {
      let room = Self.screenRows - lines.count - rest.count - 2
      return lines + ["Commands:"] + commands(room: room, width: width) + [""] + rest
    }
    let own = command.arguments.filter { $0.section != Self.connection && !$0.isGeneral }
    let labels = Self.withoutTwins(own).map { ("  " + $0.label, $0.abstract) }
    let column = min(labels.reduce(0) { max($0, $1.0.count) }, Self.longestLabel) + 2
    let room = max(1, Self.screenRows - lines.count - rest.count - 2)
    var shown = labels.prefix(labels.count > room ? room - 1 : room).map { label, abstract in
      // A longer label leaves less space on its own line only.
      Self.padded(label, column) + Self.brief(abstract, width: width - max(column, label.count + 2))
    }
    if labels.count > room { shown.append("  and \(labels.count - room + 1) more: see --help") }
    return lines + (shown.isEmpty ? [] : ["Options:"] + shown + [""]) + rest
  }

  /// Returns a line for each command, or for each group if there are too many.
  private func commands(room: Int, width: Int) -> [String] {
    var rows = command.subcommands.map { (label: $0.name, text: $0.abstract) }
    if rows.count > room, !groups.isEmpty {
      let grouped = groups.flatMap(\.commands)
      rows =
        groups.map { (label: $0.commands.joined(separator: ", "), text: $0.title) }
        + rows.filter { !grouped.contains($0.label) }
    }
    let longest = rows.reduce(0) { max($0, $1.label.count) } + 4
    return rows.map {
      Self.padded("  " + $0.label, longest) + Self.brief($0.text, width: width - longest - 2)
    }
  }

  private func footer(width: Int) -> [String] {
    var lines: [String] = []
    if let example = command.example, command.subcommands.isEmpty, 9 + example.count <= width {
      lines.append("Example: " + example)
    }
    let hasBroker = command.arguments.contains { $0.section == Self.connection }
    let all =
      command.subcommands.isEmpty
      ? "--help for all: what it does, examples,\(hasBroker ? " how to reach the broker," : "") exit codes"
      : "\(name) <command> -h for what a command needs, --help for all"
    return lines + TextLayout.lines(all, width: width)
  }

  /// Returns the start of a description that fits, without details.
  static func brief(_ text: String, width: Int) -> String {
    var text = text[...]
    for mark in [" (", "; ", ". "] {
      if let end = text.indices.first(where: { text[$0...].hasPrefix(mark) }) { text = text[..<end] }
    }
    while text.hasSuffix(".") { text.removeLast() }
    guard text.count > width else { return String(text) }
    for mark in [", as in", ": ", ", "] {
      if let end = text.indices.last(where: {
        text[$0...].hasPrefix(mark) && text.distance(from: text.startIndex, to: $0) <= width
      }) {
        return String(text[..<end])
      }
    }
    var words = text.prefix(max(1, width - 2))
    if let blank = words.lastIndex(of: " ") { words = words[..<blank] }
    return words + " …"
  }

  /// Merges a flag and its opposite, which have one description.
  private static func withoutTwins(_ arguments: [CommandDescription.Argument]) -> [CommandDescription
    .Argument]
  {
    var kept: [CommandDescription.Argument] = []
    for argument in arguments {
      if let last = kept.last, last.kind == .flag, argument.kind == .flag, last.abstract == argument.abstract
      {
        continue
      }
      kept.append(argument)
    }
    return kept
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(2, width - text.count))
  }
}
