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
    var defaultValue: String?
    var allValues: [String]
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

  /// Adds the flag `--version`, which every command of a program with a version accepts, but the parser lists
  /// only for some.
  mutating func addVersion() {
    guard !arguments.contains(where: { $0.names.contains("--version") }) else { return }
    let version = Argument(
      kind: .flag, isOptional: true, isRepeating: false, names: ["--version"], valueName: "version",
      allValues: [], abstract: "Show the version.")
    arguments.insert(version, at: arguments.lastIndex { $0.names.contains("--help") } ?? arguments.count)
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
    defaultValue = json["defaultValue"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    allValues = json["allValues"]?.array?.compactMap(\.string) ?? []
    abstract = json["abstract"]?.string ?? ""
    // The parser's own text for `--help` does not mention the short form, `-h`.
    if names.contains("--help") { abstract = "Show all of this; -h shows one screen." }
  }

  /// Returns the argument as on a command line, as in `-o, --output <file>`.
  /// - Parameter isShort: true for at most one short and one long name.
  func label(isShort: Bool = false) -> String {
    guard kind != .positional else { return "<\(valueName)>" + (isRepeating ? " ..." : "") }
    var shown = names
    if isShort {
      shown = [names.first { !$0.hasPrefix("--") }, names.first { $0.hasPrefix("--") }].compactMap(\.self)
    }
    return shown.joined(separator: ", ") + (kind == .option ? " <\(valueName)>" : "")
  }

  /// True for arguments that every command has.
  var isGeneral: Bool { names.contains("--help") || names.contains("--version") }
}
