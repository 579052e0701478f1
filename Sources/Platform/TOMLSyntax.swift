/// Finds what the TOML parser in use (toml++) answers with an assertion, which ends the process, instead of an error.
public enum TOMLSyntax {
  /// A line, counted from 1, and what is wrong with it.
  public typealias Problem = (line: Int, text: String)

  /// The first such place; nil for none. Other faults are left to the parser.
  public static func fatalProblem(in text: String) -> Problem? {
    let (header, value) = (headerWithoutName(in: text), missingValue(in: text))
    guard let header, let value else { return header ?? value }
    return header.line <= value.line ? header : value
  }

  /// A line that begins with `[` or `[[` and goes on with nothing that a key can begin with.
  private static func headerWithoutName(in text: String) -> Problem? {
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      let content = line.drop(while: \.isWhitespace)
      guard content.first == "[" else { continue }
      var rest = content.dropFirst().drop(while: \.isWhitespace)
      if rest.first == "[" { rest = rest.dropFirst().drop(while: \.isWhitespace) }
      let first = rest.unicodeScalars.first
      let isBare =
        first.map { $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0)) } ?? false
      guard isBare || first.map("_-\"']".unicodeScalars.contains) == true else {
        return (index + 1, "a table header needs a name, as in [name]")
      }
    }
    return nil
  }

  /// A closing bracket, a comma, a comment or the end of a line where a value should stand.
  private static func missingValue(in text: String) -> Problem? {
    var line = 1
    // The last character that is neither space nor part of a string or comment.
    var previous: Character = "\n"
    var rest = text[...]
    while let character = rest.first {
      switch character {
      case "\"", "'":
        guard let end = endOfString(rest, quote: character) else { return nil }
        line += rest[..<end].count(where: \.isNewline)
        rest = rest[end...]
        previous = character
        continue
      case "#":
        if previous == "=" { return (line, "a value is missing after =") }
        rest = rest.drop { !$0.isNewline }
        continue
      case "]", "}", ",":
        if previous == "=" { return (line, "a value is missing after =") }
        if character == "}", previous == "[" || previous == "," {
          return (line, "a value is missing before }")
        }
        previous = character
      default:
        if character.isNewline {
          if previous == "=" { return (line, "a value is missing after =") }
          line += 1
        } else if !character.isWhitespace {
          previous = character
        }
      }
      rest.removeFirst()
    }
    return nil
  }

  /// Behind the string that begins here; nil when it does not end, with which the parser stops as well.
  private static func endOfString(_ text: Substring, quote: Character) -> String.Index? {
    let triple = String(repeating: quote, count: 3)
    let isLong = text.hasPrefix(triple)
    var rest = text.dropFirst(isLong ? 3 : 1)
    while let character = rest.first {
      if quote == "\"", character == "\\" {
        rest = rest.dropFirst(2)
      } else if isLong {
        if rest.hasPrefix(triple) { return rest.index(rest.startIndex, offsetBy: 3) }
        rest.removeFirst()
      } else if character == quote {
        return rest.index(after: rest.startIndex)
      } else if character.isNewline {
        return nil
      } else {
        rest.removeFirst()
      }
    }
    return nil
  }
}
