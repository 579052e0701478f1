import ArgumentParser
import Testing

@testable import CommandHelp

@Suite struct HelpTextTests {
  struct Tool: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "tool", abstract: "Does things.", subcommands: [Walk.self, Group.self])
  }

  struct Group: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "group", abstract: "Has others.", subcommands: [Walk.self])
  }

  struct Walk: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "walk", abstract: "Goes somewhere.",
      discussion: """
        Running text that is longer than a narrow terminal is wide, so that it is wrapped at blanks.

        Examples:
          tool walk --to http://a-very-long-host-name.example/with/a/path --quickly
          tool walk there

        Exit codes: 0 there; 64 usage.
        """)
    @OptionGroup(title: "Broker") var broker: Connection
    @Argument(help: "Where to; a place, or nowhere.") var place: String?
    @Option(name: .shortAndLong, help: ArgumentHelp("How fast (default: slowly).", valueName: "speed"))
    var pace: String
    @Flag(inversion: .prefixedNo, help: "With a hat.") var hat = true
    @Option(help: ArgumentHelp("Steps.", valueName: "n")) var steps = 7
    init() {}
    func run() throws {}
  }

  struct Connection: ParsableArguments {
    @Option(help: "Where it listens.") var host: String?
    init() {}
  }

  private func help(_ path: [String]) throws -> HelpText {
    try #require(CommandProgram.help(of: Tool.self, path: path))
  }

  @Test func theShortFormOfACommand() throws {
    #expect(
      try help(["walk"]).short(width: 80).joined(separator: "\n")
        == """
        tool walk: Goes somewhere.

        Usage: tool walk [<place>] --pace <speed> [options]

        Options:
          <place>             Where to
          -p, --pace <speed>  How fast
          --hat               With a hat
          --steps <n>         Steps

        --help for all: what it does, examples, how to reach the broker, exit codes
        """)
  }

  /// The parser writes the complete help. A command's own options are at its end, next to the prompt.
  @Test func completeHelpEndsWithTheCommandsOwnOptions() throws {
    let text = try #require(CommandProgram.longHelp(of: Tool.self, path: ["walk"]))
    #expect(text.hasPrefix("OVERVIEW: Goes somewhere.\n\nRunning text that is longer than a narrow terminal"))
    #expect(
      text.contains(
        "Examples:\n  tool walk --to http://a-very-long-host-name.example/with/a/path --quickly\n"))
    #expect(text.contains("USAGE: tool walk [--host <host>] [<place>] --pace <speed>"), "\(text)")
    #expect(text.contains("  --hat/--no-hat          With a hat.") && text.contains("Steps. (default: 7)"))
    let headings = text.split(separator: "\n").filter { $0.hasSuffix(":") && $0 == $0.uppercased() }
    #expect(headings == ["ARGUMENTS:", "BROKER:", "OPTIONS:"])
    #expect(CommandProgram.longHelp(of: Tool.self, path: ["run"]) == nil)
  }

  @Test func theFormsOfAGroup() throws {
    let short = try help([]).short(width: 80)
    #expect(short.contains("  walk   Goes somewhere") && short.contains("Usage: tool <command> [options]"))
    #expect(CommandProgram.longHelp(of: Tool.self, path: ["group"])?.contains("SUBCOMMANDS:") == true)
    #expect(CommandProgram.help(of: Tool.self, path: ["run"]) == nil)
  }

  struct Large: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "large", abstract: "Does much.",
      groupedSubcommands: [
        CommandGroup(name: "On foot, or not", subcommands: [Walk.self]),
        CommandGroup(name: "Others", subcommands: [Group.self]),
      ])
  }

  /// The short help lists groups if there are too many commands for a screen.
  @Test func theFormsOfAProgramWithGroups() throws {
    let program = CommandProgram.description(of: Large.self, root: Large.self, path: [])
    #expect(
      program.groups.map(\.title) == ["On foot, or not", "Others"]
        && program.groups.map(\.commands) == [["walk"], ["group"]])
    #expect(CommandProgram.description(of: Group.self, root: Tool.self, path: ["group"]).groups.isEmpty)
    let few = HelpText(of: program)
    #expect(few.short(width: 80).contains("  walk   Goes somewhere"))
    var large = program
    let more = (1...20).map { number in
      var command = program.subcommands[0]
      command.name = "walk\(number)"
      return command
    }
    large.subcommands += more
    large.groups.insert(
      CommandDescription.Group(title: "On foot", commands: more.prefix(19).map(\.name)), at: 0)
    let help = HelpText(of: large)
    let short = help.short(width: 300)
    #expect(
      short.contains { $0.contains("walk1, walk2, ") && $0.hasSuffix("  On foot") } && short.count <= 23)
    // A command without a group has its own line.
    #expect(short.contains { $0.hasPrefix("  walk20 ") && $0.hasSuffix("  Goes somewhere") })
  }

  @Test(arguments: [
    (["-h"], CommandProgram.Answer.help(path: [], isShort: true)),
    ([], .help(path: [], isShort: true)), (["--help"], .help(path: [], isShort: false)),
    (["group"], .help(path: ["group"], isShort: true)), (["walk"], .parse),
    (["walk", "-p", "1", "-h"], .help(path: ["walk"], isShort: true)),
    (["group", "walk", "--help"], .help(path: ["group", "walk"], isShort: false)),
    (["help", "group"], .help(path: ["group"], isShort: false)), (["help"], .help(path: [], isShort: false)),
    (["walk", "--", "-h"], .parse), (["--version"], .parse), (["walk", "wlak"], .parse),
    (["wlak", "-h"], .unknown(word: "wlak", path: [], commands: ["walk", "group"])),
    (["group", "x"], .unknown(word: "x", path: ["group"], commands: ["walk"])),
    (["--generate-completion-script", "bash"], .parse), (["---completion", "wlak", "-h"], .parse),
  ])
  func whatAWordMeans(words: [String], answer: CommandProgram.Answer) {
    #expect(CommandProgram.answer(to: words, of: Tool.self) == answer)
  }

  @Test(arguments: [
    ("Sort by a, b, c; -key is the other way round.", 40, "Sort by a, b, c"),
    ("Only this fleet (default: all).", 40, "Only this fleet"),
    ("Settings, as in location.distance_filter=50 and more.", 30, "Settings"),
    ("one two three four five six", 15, "one two …"),
  ])
  func briefly(text: String, width: Int, brief: String) {
    #expect(HelpText.brief(text, width: width) == brief)
  }

  @Test func wordsStayWhole() {
    for width in 1...60 {
      let words = "An extraordinarily long-winded sentence, with http://a.example/b in it."
      let lines = TextLayout.lines(words, width: width, indent: 2, first: "x")
      #expect(lines.joined(separator: " ").split(separator: " ").joined(separator: " ").hasSuffix(words))
      #expect(lines.allSatisfy { $0.count <= max(width, 2 + "extraordinarily".count + 4) })
    }
  }
}
