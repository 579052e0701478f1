/// All keys of the live table, over the screen.
enum WatchKeys {
  /// What is missed most comes first, for a screen that has no room for all.
  private static let keys: [(key: String, short: String, long: String)] = [
    ("q", "quit", "quit; Ctrl-C as well"),
    ("?", "these keys", "these keys"),
    ("↑ ↓", "choose", "choose a vehicle; k and j as well"),
    ("⏎", "details", "its details, or close them"),
    ("m", "map", "the map of all, or around the chosen one, or close it"),
    ("/", "filter", "show only vehicles with these words in name or state"),
    ("Esc", "one step back", "one step back: panes, choice, filter"),
    ("1…9", "sort by column", "sort by the column of that number; again: the other way"),
    ("s", "sort by next", "sort by the next column, at last by missing messages"),
    ("r", "reverse", "sort the other way round"),
    ("PgDn", "next page", "turn the table, back with PgUp; Space as well"),
    ("g G", "first, last", "the first and the last vehicle; Home and End as well"),
    ("J K", "scroll details", "scroll the details"),
    ("+ -", "zoom map", "make the map larger or smaller"),
    ("0", "whole map", "the map as it was before zooming"),
  ]

  private static let keyColumns = 6
  private static let title = "keys: any key closes"

  /// Lines of text that fit, in one column with all that there is to say, or in two with less of it.
  static func lines(columns: Int, rows: Int) -> [StyledText] {
    var lines = [StyledText(title, style: .dim)]
    let longest = keys.reduce(0) { max($0, $1.long.count) }
    if columns >= keyColumns + longest, rows > keys.count {
      lines += keys.map { line($0.key, $0.long) }
    } else {
      let width = keys.reduce(0) { max($0, $1.short.count) } + keyColumns
      let isDouble = columns >= 2 * width
      let left = isDouble ? (keys.count + 1) / 2 : keys.count
      for row in 0..<left {
        var text = line(keys[row].key, keys[row].short)
        if isDouble, row + left < keys.count {
          text = text.fitted(to: columns / 2)
          text.append(line(keys[row + left].key, keys[row + left].short))
        }
        lines.append(text)
      }
    }
    return lines.prefix(max(0, rows)).map { $0.width > columns ? $0.fitted(to: columns) : $0 }
  }

  static func draw(on frame: inout Frame) {
    // A frame around it, where there is room for one.
    let hasEdge = frame.size.columns >= 76 && frame.size.rows >= keys.count + 3
    let (columns, rows) = hasEdge ? (72, keys.count + 1) : (frame.size.columns, frame.size.rows)
    let lines = lines(columns: columns, rows: rows)
    guard hasEdge else {
      for row in 0..<rows {
        let line = row < lines.count ? lines[row] : StyledText()
        frame.put(line.fitted(to: columns), row: row)
      }
      return
    }
    let (top, left) = ((frame.size.rows - rows - 2) / 2, (frame.size.columns - columns - 4) / 2)
    let bar = String(repeating: "─", count: columns + 2)
    frame.put(StyledText("┌\(bar)┐"), row: top, column: left)
    for (row, line) in lines.enumerated() {
      var text = StyledText("│ ")
      text.append(line.fitted(to: columns))
      text.append(" │")
      frame.put(text, row: top + 1 + row, column: left)
    }
    frame.put(StyledText("└\(bar)┘"), row: top + 1 + lines.count, column: left)
  }

  private static func line(_ key: String, _ text: String) -> StyledText {
    var line = StyledText(key, style: .bold).fitted(to: keyColumns)
    line.append(text)
    return line
  }
}
