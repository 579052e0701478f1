/// The output of `-h` and `--help`, from the parser's own description of the commands.
package struct HelpText {
  /// Lines of a usual terminal, without the one for the next prompt.
  private static let screenRows = 23
  /// Heading of the options common to all commands; shown last, and in the long form only.
  private static let connection = "Broker"
  private static let longLabel = 26
  private static let shortLabel = 22

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
      let label = argument.label(isShort: true)
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
    let labels = Self.withoutTwins(own).map { ("  " + $0.label(isShort: true), $0.abstract) }
    let column = min(labels.reduce(0) { max($0, $1.0.count) }, Self.shortLabel) + 2
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

extension HelpText {
  /// Returns the complete help: description, examples, exit codes, options, and the broker options at the
  /// end.
  /// - Parameter width: columns at which text is wrapped; examples are never wrapped.
  package func long(width: Int) -> [String] {
    var lines = TextLayout.lines(command.abstract, width: width) + [""]
    if !command.discussion.isEmpty {
      lines += TextLayout.description(command.discussion, width: width) + [""]
    }
    lines += TextLayout.lines(usage, width: width, indent: 7, first: "Usage:")
    var sections: [String] = []
    for section in command.arguments.compactMap(\.section) where !sections.contains(section) {
      sections.append(section)
    }
    sections.removeAll { $0 == Self.connection }
    let arguments = command.arguments
    lines += list("Arguments", arguments.filter { $0.section == nil && $0.kind == .positional }, width)
    lines += list("Options", arguments.filter { $0.section == nil && $0.kind != .positional }, width)
    for section in sections + [Self.connection] {
      lines += list(section, arguments.filter { $0.section == section }, width)
    }
    guard !command.subcommands.isEmpty else { return lines }
    let grouped = groups.flatMap(\.commands)
    lines += list("Commands", command.subcommands.filter { !grouped.contains($0.name) }, width)
    for group in groups {
      lines += list(group.title, command.subcommands.filter { group.commands.contains($0.name) }, width)
    }
    return lines + [""] + TextLayout.lines("\(name) <command> --help describes a command.", width: width)
  }

  private func list(_ title: String, _ commands: [CommandDescription], _ width: Int) -> [String] {
    guard !commands.isEmpty else { return [] }
    return ["", "\(title):"]
      + commands.flatMap {
        TextLayout.lines($0.abstract, width: width, indent: Self.longLabel, first: "  " + $0.name)
      }
  }

  private func list(
    _ title: String, _ arguments: [CommandDescription.Argument], _ width: Int
  ) -> [String] {
    guard !arguments.isEmpty else { return [] }
    var lines = ["", "\(title):"]
    var names: [String] = []
    for (place, argument) in arguments.enumerated() {
      names.append(argument.label())
      let hasTwin =
        place + 1 < arguments.count && argument.kind == .flag && arguments[place + 1].kind == .flag
        && arguments[place + 1].abstract == argument.abstract
      if hasTwin { continue }
      lines += TextLayout.lines(
        Self.description(of: argument), width: width, indent: Self.longLabel,
        first: "  " + names.joined(separator: "/"))
      names = []
    }
    return lines
  }

  /// Returns the description with valid values and the default.
  private static func description(of argument: CommandDescription.Argument) -> String {
    let values = argument.allValues.isEmpty ? nil : "values: " + argument.allValues.joined(separator: ", ")
    let usual = argument.defaultValue.map { "default: \($0)" }
    let notes = [values, usual].compactMap(\.self).joined(separator: "; ")
    return notes.isEmpty ? argument.abstract : "\(argument.abstract) (\(notes))"
  }
}
