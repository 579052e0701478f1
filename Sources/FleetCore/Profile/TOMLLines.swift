/// On which line of a TOML text each key stands. The parser's Swift wrapper hands out lines only with syntax errors, so
/// a wrong value would have none. This reads headers and left-hand sides.
struct TOMLLines {
  private var lines: [String: Int] = [:]

  init(_ text: String) {
    var section = ""
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      let content = line.drop(while: \.isWhitespace)
      if content.hasPrefix("["), let end = content.firstIndex(of: "]") {
        section = Self.bare(content[..<end].drop { $0 == "[" })
        record(section, at: index + 1)
        section += "."
      } else if !content.hasPrefix("#"), let equals = content.firstIndex(of: "=") {
        record(section + Self.bare(content[..<equals]), at: index + 1)
      }
    }
  }

  /// Counted from 1; nil when it is not found, as one that is written in an unusual way.
  func line(of path: String) -> Int? { lines[path] }

  private mutating func record(_ path: String, at line: Int) {
    if lines[path] == nil { lines[path] = line }
  }

  private static func bare(_ key: Substring) -> String { key.filter { $0 != "\"" && !$0.isWhitespace } }
}
