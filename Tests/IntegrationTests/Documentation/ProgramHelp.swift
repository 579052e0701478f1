import Foundation

/// The commands of a program, as it describes them itself.
struct ProgramHelp: Decodable {
  struct Command: Decodable {
    struct Argument: Decodable {
      struct Name: Decodable { var name: String }
      var kind: String
      var names: [Name]?
      var abstract: String?
    }
    var commandName: String
    var discussion: String?
    var arguments: [Argument]?
    var subcommands: [Command]?
  }

  var command: Command

  /// - Parameter words: of a command line, without the program.
  /// - Returns: what is wrong with it; nil when there is such a command.
  func fault(in words: [String]) -> String? {
    var current = command
    var rest = words[...]
    while let word = rest.first, let next = current.subcommands?.first(where: { $0.commandName == word }) {
      current = next
      rest.removeFirst()
    }
    for word in rest {
      if word.hasPrefix("--") {
        let flags = (current.arguments ?? []).flatMap { $0.names ?? [] }.map { "--\($0.name)" }
        if !flags.contains(word) { return "\(current.commandName) has no \(word)" }
      } else if !current.names(word) {
        return "there is no \(word) of \(current.commandName)"
      }
    }
    return nil
  }
}

extension ProgramHelp.Command {
  /// Whether one of the words that it takes is this one, as `locate` of `odograph command`.
  func names(_ word: String) -> Bool {
    (arguments ?? []).contains { argument in
      argument.kind == "positional"
        && (argument.abstract ?? "").split { " ,.;:".contains($0) }.contains { $0 == word }
    }
  }
}
