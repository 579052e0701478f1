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
}
