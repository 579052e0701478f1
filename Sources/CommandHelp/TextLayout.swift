/// Wraps text into lines of a width. Words are never split, even in narrow lines.
enum TextLayout {
  /// - Parameters:
  ///   - indent: number of blanks before each line.
  ///   - first: text that replaces the blanks before the first line, if it is not longer.
  static func lines(_ text: String, width: Int, indent: Int = 0, first: String = "") -> [String] {
    let blanks = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = ""
    for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
      if !line.isEmpty, indent + line.count + 1 + word.count > width {
        lines.append(blanks + line)
        line = ""
      }
      line += line.isEmpty ? String(word) : " " + word
    }
    if !line.isEmpty { lines.append(blanks + line) }
    guard !first.isEmpty else { return lines }
    guard first.count + 1 <= indent, let head = lines.first else { return [first] + lines }
    lines[0] = first + head.dropFirst(first.count)
    return lines
  }

  /// Wraps a description: paragraphs are wrapped, and indented lines are unchanged if they fit.
  static func description(_ text: String, width: Int) -> [String] {
    var lines: [String] = []
    var paragraph: [Substring] = []
    var isExample = false
    func wrapped() -> [String] { Self.lines(paragraph.joined(separator: " "), width: width) }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let isLiteral = line.hasPrefix(" ") || line.hasSuffix(":") && !line.contains(" ")
      guard line.isEmpty || isLiteral else {
        paragraph.append(line)
        continue
      }
      isExample = line == "Examples:" || isExample && !line.isEmpty
      lines += wrapped() + (isExample ? example(line, width: width) : row(line, width: width))
      paragraph = []
    }
    return lines + wrapped()
  }

  /// Wraps a row of two columns, as in `locate a position`. The text of the second column is wrapped within
  /// its column.
  private static func row(_ line: Substring, width: Int) -> [String] {
    let label = line.prefix { $0 == " " }.count + line.drop { $0 == " " }.prefix { $0 != " " }.count
    let indent = label + line.dropFirst(label).prefix { $0 == " " }.count
    guard line.count > width, indent < width / 2 else { return [String(line)] }
    return lines(
      String(line.dropFirst(indent)), width: width, indent: indent, first: String(line.prefix(label)))
  }

  /// Wraps a command that can be copied: a long one continues on the next line in shell syntax, without its
  /// remark.
  private static func example(_ line: Substring, width: Int) -> [String] {
    guard line.count > width else { return [String(line)] }
    var text = line
    if let remark = text.indices.first(where: { text[$0...].hasPrefix(" #") }) { text = text[..<remark] }
    let continues = text.hasSuffix("\\")
    let indent = String(text.prefix { $0 == " " })
    var lines: [String] = []
    var current = indent
    for word in words(text) where word != "\\" {
      if current.count > indent.count, current.count + 1 + word.count + 2 > width {
        lines.append(current + " \\")
        current = indent + "  " + word
      } else {
        current += current.allSatisfy { $0 == " " } ? word : " " + word
      }
    }
    return lines + [current + (continues ? " \\" : "")]
  }

  /// Splits a text into words as a shell does: blanks in quotes belong to them.
  private static func words(_ text: Substring) -> [String] {
    var words: [String] = []
    var word = ""
    var quote: Character?
    for character in text {
      if character == " ", quote == nil {
        if !word.isEmpty { words.append(word) }
        word = ""
        continue
      }
      if character == quote {
        quote = nil
      } else if quote == nil, character == "'" || character == "\"" {
        quote = character
      }
      word.append(character)
    }
    return word.isEmpty ? words : words + [word]
  }
}
