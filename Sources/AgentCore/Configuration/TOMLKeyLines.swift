internal import Telemetry

/// On which line of a TOML text each key stands. The parser knows, but its Swift wrapper hands out lines only with
/// syntax errors, so a wrong value would have none. This reads only headers and left-hand sides.
struct TOMLKeyLines {
  private var lines: [String: Int] = [:]

  init(_ text: String) {
    var section = ""
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      let content = line.trimmingSpaces()
      if content.hasPrefix("["), let end = content.firstIndex(of: "]") {
        section = content[..<end].drop { $0 == "[" }.filter { $0 != "\"" && $0 != " " }
        record(section, at: index + 1)
        section += "."
      } else if !content.hasPrefix("#"), let equals = content.firstIndex(of: "=") {
        record(
          section + content[..<equals].trimmingSpaces().filter { $0 != "\"" && $0 != " " }, at: index + 1)
      }
    }
  }

  private mutating func record(_ path: String, at line: Int) {
    if lines[path] == nil { lines[path] = line }
  }

  /// "file:line" of a dotted key, or of the table that holds it; the file alone where neither is found.
  func place(of path: String, in file: String) -> String {
    var path = path[...]
    while true {
      if let line = lines[String(path)] { return "\(file):\(line)" }
      guard let dot = path.lastIndex(of: ".") else { return file }
      path = path[..<dot]
    }
  }
}
