internal import FleetProgram

/// The help pages: keys, signs and columns.
enum WatchHelp {
  /// The most important keys come first.
  private static let keys: [(key: String, short: String, long: String)] = [
    ("q", "quit", "quit; Ctrl-C as well"),
    ("?", "the signs", "keys, symbols and columns"),
    ("↑ ↓", "choose", "choose a vehicle; k and j as well"),
    ("⏎", "details", "show or hide the vehicle's details"),
    ("m", "map", "show or hide the map of all, or around the chosen vehicle"),
    ("/", "filter", "show only vehicles whose name or state contains these words"),
    ("n", "silent ones", "only vehicles silent for 1 min; again: 10 min, 1 h, 1 d, all"),
    ("c", "columns", "choose which columns are shown"),
    ("Esc", "one step back", "one step back: close panes, clear choice, clear filter"),
    ("1…9", "sort by column", "sort by the column of that number; again: reverse the order"),
    ("s", "sort by next", "sort by the next column"),
    ("r", "reverse", "reverse the order"),
    ("PgDn", "next page", "next page of the table, back with PgUp; Space as well"),
    ("g G", "first, last", "the first and the last vehicle; Home and End as well"),
    ("J K", "scroll details", "scroll the details"),
    ("+ -", "zoom map", "zoom the map in or out"),
    ("0", "whole map", "reset the zoom of the map"),
  ]

  private static let signs: [(sign: String, meaning: String)] = [
    ("● online", "connected to the broker, by its last status"),
    ("◐ asleep", "disconnected; announced to reconnect"),
    ("○ offline", "disconnected, or the connection was lost"),
    ("· unknown", "no status received yet"),
    (
      "~",
      "before a position: last known or coarse; before a distance: no longer guaranteed; before a time: age"
    ),
    ("?", "before a position: suspect, because another measurement contradicts it"),
    ("–", "not reported, or unknown now"),
    ("▲ ▼", "sorted by this column: values rise, or fall, from row to row"),
    ("◆", "on the map: the chosen vehicle"),
    ("12", "on the map: number of vehicles close together; + separates them"),
  ]

  private static let keyColumns = 6
  private static let signColumns = 11

  static func pageCount(columns: [WatchColumn], size: TerminalSize) -> Int {
    pages(columns: columns, size: size).count
  }

  /// Draws a page.
  ///
  /// - Parameter columns: the columns of the table.
  static func draw(page: Int, columns: [WatchColumn], on frame: inout Frame) {
    let pages = pages(columns: columns, size: frame.size)
    guard pages.indices.contains(page) else { return }
    OverlayPane.draw(pages[page], on: &frame)
  }

  /// Returns the pages that fit: the keys, in one column with long texts or in two with short ones, then
  /// signs and columns.
  private static func pages(columns: [WatchColumn], size: TerminalSize) -> [[StyledText]] {
    let (width, rows) = OverlayPane.room(for: keys.count + 1, on: size)
    let meanings = meanings(of: columns, width: width)
    let room = max(1, rows - 1)
    let count = (meanings.count + room - 1) / room
    var pages = [[heading("keys", isLast: false, width: width)] + keyLines(width: width, rows: rows)]
    for page in 0..<count {
      let lines = meanings[(page * room)..<min(meanings.count, (page + 1) * room)]
      pages.append([heading("signs and columns", isLast: page == count - 1, width: width)] + lines)
    }
    return pages.map { Array($0.prefix(max(0, rows))) }
  }

  private static func heading(_ subject: String, isLast: Bool, width: Int) -> StyledText {
    let forms =
      isLast
      ? ["\(subject): any key closes", "any key closes"]
      : [
        "\(subject): ? explains symbols and columns, any other key closes",
        "? more, any other key closes",
      ]
    let text = forms.map { StyledText($0, style: .dim) }
    let fitting = text.first { $0.width <= width } ?? text[text.count - 1]
    return fitting.width > width ? fitting.fitted(to: width) : fitting
  }

  private static func keyLines(width: Int, rows: Int) -> [StyledText] {
    let longest = keys.reduce(0) { max($0, $1.long.count) }
    if width >= keyColumns + longest, rows > keys.count { return keys.map { line($0.key, $0.long) } }
    let needed = keys.reduce(0) { max($0, $1.short.count) } + keyColumns
    let isDouble = width >= 2 * needed
    let left = isDouble ? (keys.count + 1) / 2 : keys.count
    return (0..<left).map { row in
      var text = line(keys[row].key, keys[row].short)
      if isDouble, row + left < keys.count {
        text = text.fitted(to: width / 2)
        text.append(line(keys[row + left].key, keys[row + left].short))
      }
      return text.width > width ? text.fitted(to: width) : text
    }
  }

  private static func line(_ key: String, _ text: String) -> StyledText {
    var line = StyledText(key, style: .bold).fitted(to: keyColumns)
    line.append(text)
    return line
  }

  private static func meanings(of columns: [WatchColumn], width: Int) -> [StyledText] {
    let all = signs.map { ($0.sign, $0.meaning) } + columns.map { ($0.title, $0.explanation) }
    // The title of the attitude column, which names three angles, is abbreviated.
    let named = all.map { ($0.0.contains("PITCH") ? "ROLL…YAW" : $0.0, $0.1) }
    var text = WrappedText { _ in width }
    let indent = min(signColumns, max(0, width - 8))
    for (sign, meaning) in named {
      text.append(StyledText(sign, style: .bold), indent: indent, parts: [StyledText(meaning)])
    }
    return text.lines.map { $0.width > width ? $0.fitted(to: width) : $0 }
  }
}
