internal import JSON

/// A command as described by the argument parser's `--experimental-dump-help`, from which manual pages are
/// generated, too.
package struct CommandDescription: Hashable, Sendable {
  /// An option, a flag or a positional argument.
  struct Argument: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
      case positional
      case option
      case flag
    }

    var kind: Kind
    /// Heading of its section; nil for the command's own.
    var section: String?
    var isOptional: Bool
    var isRepeating: Bool
    /// Names with their dashes, the short ones first.
    var names: [String]
    var valueName: String
    var abstract: String
  }

  var name: String
  var abstract: String
  var discussion: String
  var arguments: [Argument]
  var subcommands: [CommandDescription]

  /// - Parameter dump: description of a program, or of one of its commands.
  /// - Returns: nil if it is invalid.
  package init?(dump: String) {
    guard let json = try? JSONValue(parsing: Array(dump.utf8)), let command = json["command"] else {
      return nil
    }
    self.init(json: command)
  }

  private init?(json: JSONValue) {
    guard let name = json["commandName"]?.string else { return nil }
    self.name = name
    abstract = json["abstract"]?.string ?? ""
    discussion = json["discussion"]?.string ?? ""
    arguments = (json["arguments"]?.array ?? []).compactMap(Argument.init(json:))
    subcommands = (json["subcommands"]?.array ?? []).filter { $0["shouldDisplay"]?.bool != false }
      .compactMap(CommandDescription.init(json:))
    // `help` is a command that the parser adds; it is equivalent to `--help`.
    subcommands.removeAll { $0.name == "help" }
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

extension CommandDescription.Argument {
  init?(json: JSONValue) {
    guard json["shouldDisplay"]?.bool != false, let kind = json["kind"]?.string.flatMap(Kind.init) else {
      return nil
    }
    self.kind = kind
    section = json["sectionTitle"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    isOptional = json["isOptional"]?.bool ?? true
    isRepeating = json["isRepeating"]?.bool ?? false
    let all = (json["names"]?.array ?? []).compactMap { name -> (isLong: Bool, text: String)? in
      guard let text = name["name"]?.string else { return nil }
      let isLong = name["kind"]?.string == "long"
      return (isLong, (isLong ? "--" : "-") + text)
    }
    names = all.filter { !$0.isLong }.map(\.text) + all.filter(\.isLong).map(\.text)
    valueName = json["valueName"]?.string ?? ""
    abstract = json["abstract"]?.string ?? ""
  }

  /// The argument as on a command line, with at most one short and one long name, as in `-o, --output <file>`.
  var label: String {
    guard kind != .positional else { return "<\(valueName)>" + (isRepeating ? " ..." : "") }
    let shown = [names.first { !$0.hasPrefix("--") }, names.first { $0.hasPrefix("--") }].compactMap(\.self)
    return shown.joined(separator: ", ") + (kind == .option ? " <\(valueName)>" : "")
  }

  /// True for arguments that every command has.
  var isGeneral: Bool { names.contains("--help") || names.contains("--version") }
}
