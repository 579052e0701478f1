internal import FleetProgram

/// The list for choosing the table's columns, with their descriptions.
struct ColumnChooser: Hashable, Sendable {
  /// The selected line.
  private(set) var cursor = 0

  var column: WatchColumn { WatchColumn.allCases[cursor] }

  mutating func move(by lines: Int) {
    cursor = max(0, min(cursor + lines, WatchColumn.allCases.count - 1))
  }

  /// Returns the columns after adding `column`, or after removing it if it was among them. The vehicle's name
  /// is never removed.
  static func toggled(_ column: WatchColumn, in columns: [WatchColumn]) -> [WatchColumn] {
    guard column != .vehicle else { return columns }
    guard !columns.contains(column) else { return columns.filter { $0 != column } }
    // A new column is inserted at its default position, which is before the last event, because that column
    // uses the remaining width.
    let place = columns.firstIndex { $0.rawValue > column.rawValue } ?? columns.count
    return Array(columns[..<place]) + [column] + Array(columns[place...])
  }

  /// Draws the list.
  ///
  /// - Parameters:
  ///   - shown: the columns of the table as last drawn.
  ///   - chosen: the chosen columns, whether they fit or not; nil for the default.
  func draw(shown: [WatchColumn], chosen: [WatchColumn]?, on frame: inout Frame) {
    let wanted = WatchColumn.allCases.count + 1
    let (columns, rows) = OverlayPane.room(for: wanted, on: frame.size)
    let title =
      columns >= 66
      ? "columns: ⏎ shows or hides, 0 selects the defaults, any other key closes"
      : "⏎ show, hide  0 usual  Esc back"
    let marked = chosen ?? shown
    let lines = WatchColumn.allCases.enumerated().map { place, column in
      let mark = marked.contains(column) ? (shown.contains(column) ? "x" : "!") : " "
      var line = StyledText("[\(mark)] ")
      line.append(StyledText(column.name, style: .bold).fitted(to: 12))
      line.append(mark == "!" ? "the screen is too small" : column.explanation)
      if line.width > columns { line = line.fitted(to: columns) }
      return place == cursor ? line.fitted(to: columns).styled(TextStyle(reversed: true)) : line
    }
    // On a small screen the list is scrolled, so that the selected line is visible.
    let room = max(1, rows - 1)
    let first = max(0, min(cursor - room / 2, lines.count - room))
    OverlayPane.draw(
      [StyledText(title, style: .dim)] + lines[first..<min(lines.count, first + room)], on: &frame)
  }
}
