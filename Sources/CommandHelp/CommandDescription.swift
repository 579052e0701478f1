internal import ArgumentParser
internal import Bytes

/// A command with its arguments, as listed in the parser's complete help.
struct CommandDescription: Hashable, Sendable {
  /// An option, a flag or a positional argument.
  struct Argument: Hashable, Sendable {
    /// Heading of its section in upper case, without the colon.
    var section: String
    /// The argument as on a command line, with at most one short and one long name, as in `-o, --output <file>`.
    var label: String
    var abstract: String

    /// True for arguments that every command has.
    var isGeneral: Bool { label.hasSuffix("--help") || label.hasSuffix("--version") }
  }

  struct Subcommand: Hashable, Sendable {
    var name: String
    var abstract: String
  }

  /// Related subcommands, by their names.
  struct Group: Hashable, Sendable {
    /// Purpose of the commands.
    let title: String
    let commands: [String]
  }

  /// Name with the program's, as in `odograph config set`.
  var name: String
  var abstract: String
  var discussion: String
  /// Positional arguments and required options, as on a command line.
  var required: [String]
  var arguments: [Argument]
  var subcommands: [Subcommand]
  var groups: [Group]

  /// - Parameters:
  ///   - name: name with the program's, as in `odograph config set`.
  ///   - help: the parser's complete help of the command, without line breaks in descriptions.
  init(of command: any ParsableCommand.Type, name: String, help: String) {
    let configuration = command.configuration
    self.name = name
    abstract = configuration.abstract
    discussion = configuration.discussion
    subcommands = configuration.subcommands.filter { $0.configuration.shouldDisplay }
      .map { Subcommand(name: $0.name, abstract: $0.configuration.abstract) }
    groups = configuration.groupedSubcommands.map {
      Group(title: $0.name, commands: $0.subcommands.map { $0.name })
    }
    required = []
    arguments = []
    var lines = help.split(separator: "\n")[...]
    // An indented line of the description is an example, not an argument.
    guard let usage = lines.firstIndex(where: { $0.hasPrefix(Self.usage) }) else { return }
    required = Self.required(inUsage: lines[usage].dropFirst(Self.usage.count + name.count))
    lines = lines[(usage + 1)...]
    var section: String?
    while let line = lines.popFirst() {
      guard line.hasPrefix("  ") else {
        section = line.hasSuffix(":") ? String(line.dropLast()) : nil
        continue
      }
      guard let section, !section.hasSuffix("SUBCOMMANDS") else { continue }
      // The text follows in its column, or after a long label in the next line.
      var (label, abstract) = (line, lines.first ?? "")
      if abstract.hasPrefix(Self.indent) {
        lines = lines.dropFirst()
      } else {
        (label, abstract) = (line.prefix(Self.indent.count), line.dropFirst(Self.indent.count))
      }
      arguments.append(
        Argument(
          section: section, label: Self.label(label.trimmingSpaces()),
          abstract: String(abstract.trimmingSpaces())))
    }
  }

  private static let usage = "USAGE: "
  /// Blanks before the parser's texts of arguments.
  private static let indent = String(repeating: " ", count: 26)

  /// Returns the arguments of a usage line that are not optional options.
  private static func required(inUsage line: Substring) -> [String] {
    var parts: [String] = []
    var depth = 0
    for word in line.split(separator: " ") {
      // A value, as of `--pace <speed>`, and dots after a repeating argument belong to the word before.
      let isContinued =
        depth > 0 || word == "..." || word.hasPrefix("<") && parts.last?.hasPrefix("-") == true
      if isContinued, let last = parts.popLast() {
        parts.append(last + " " + word)
      } else {
        parts.append(String(word))
      }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return parts.filter { !$0.hasPrefix("[-") && !["<options>", "[<options>]", "<subcommand>"].contains($0) }
  }

  /// Reduces a label to one short and one long name: `--hat/--no-hat` to `--hat`.
  private static func label(_ text: Substring) -> String {
    guard text.hasPrefix("-") else { return String(text) }
    let end = text.firstIndex { $0 == "<" || $0 == "[" } ?? text.endIndex
    let names = text[..<end].split { $0 == "," || $0 == " " || $0 == "/" }
    let shown = [names.first { !$0.hasPrefix("--") }, names.first { $0.hasPrefix("--") }].compactMap(\.self)
    return shown.joined(separator: ", ") + (end == text.endIndex ? "" : " " + text[end...])
  }

  /// The first of the description's examples, if it is a single line.
  var example: String? {
    let lines = discussion.split(separator: "\n", omittingEmptySubsequences: false)
    guard let head = lines.firstIndex(of: "Examples:"), head + 1 < lines.endIndex else { return nil }
    var line = lines[head + 1].drop { $0 == " " }
    // The remark after " #" is not a part of the command.
    if let remark = line.indices.first(where: { line[$0...].hasPrefix("  #") }) { line = line[..<remark] }
    while line.last == " " { line.removeLast() }
    return line.isEmpty || line.hasSuffix("\\") ? nil : String(line)
  }
}
