import Foundation

/// The commands of a program, decoded from its help dump.
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

  /// - Parameter words: Words of a command line, without the program.
  /// - Returns: The fault in it; nil if the command exists.
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
  /// Returns whether the description of a positional argument lists this word, as `odograph command` lists `locate`.
  func names(_ word: String) -> Bool {
    (arguments ?? []).contains { argument in
      argument.kind == "positional"
        && (argument.abstract ?? "").split { " ,.;:".contains($0) }.contains { $0 == word }
    }
  }
}
