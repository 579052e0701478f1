/// The output of `-h`, one screen. The parser writes the complete help.
struct HelpText {
  /// Lines of a usual terminal, without the one for the next prompt.
  private static let screenRows = 23
  /// Heading of the options common to all commands; shown in the complete help only.
  private static let connection = "BROKER"
  private static let longestLabel = 22

  private let command: CommandDescription

  init(of command: CommandDescription) {
    self.command = command
  }

  private var usage: String {
    guard command.subcommands.isEmpty else { return "\(command.name) <command> [options]" }
    return ([command.name] + command.required + ["[options]"]).joined(separator: " ")
  }
}

extension HelpText {
  /// Returns one screen of 80 columns: purpose and usage of the command, its own options, and a reference to
  /// the complete help.
  /// - Parameter width: number of columns; lines are truncated to it if necessary.
  func short(width: Int) -> [String] {
    var lines = TextLayout.lines("\(command.name): \(command.abstract)", width: width) + [""]
    lines += TextLayout.lines(usage, width: width, indent: 7, first: "Usage:") + [""]
    let rest = footer(width: width)
    guard command.subcommands.isEmpty else {
      let room = Self.screenRows - lines.count - rest.count - 2
      return lines + ["Commands:"] + commands(room: room, width: width) + [""] + rest
    }
    let own = command.arguments.filter { $0.section != Self.connection && !$0.isGeneral }
    let labels = own.map { ("  " + $0.label, $0.abstract) }
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
    if rows.count > room, !command.groups.isEmpty {
      let grouped = command.groups.flatMap(\.commands)
      rows =
        command.groups.map { (label: $0.commands.joined(separator: ", "), text: $0.title) }
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
      : "\(command.name) <command> -h for what a command needs, --help for all"
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

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(2, width - text.count))
  }
}
