/// The list from which the columns of the table are chosen, with what stands in each.
struct ColumnChooser: Hashable, Sendable {
  /// The line that keys act upon.
  private(set) var cursor = 0

  var column: WatchColumn { WatchColumn.allCases[cursor] }

  mutating func move(by lines: Int) {
    cursor = max(0, min(cursor + lines, WatchColumn.allCases.count - 1))
  }

  /// The columns with one more, or less, of them; the vehicle's name stays.
  static func toggled(_ column: WatchColumn, in columns: [WatchColumn]) -> [WatchColumn] {
    guard column != .vehicle else { return columns }
    guard !columns.contains(column) else { return columns.filter { $0 != column } }
    // A new one stands where it usually does, and before the last event, which takes what is left over.
    let place = columns.firstIndex { $0.rawValue > column.rawValue } ?? columns.count
    return Array(columns[..<place]) + [column] + Array(columns[place...])
  }

  /// - Parameters:
  ///   - shown: the columns of the table as it was last drawn.
  ///   - chosen: those that were chosen, whether there is room for them or not; nil for the usual ones.
  func draw(shown: [WatchColumn], chosen: [WatchColumn]?, on frame: inout Frame) {
    let wanted = WatchColumn.allCases.count + 1
    let (columns, rows) = OverlayPane.room(for: wanted, on: frame.size)
    let title =
      columns >= 66
      ? "columns: ⏎ shows or hides, 0 takes the usual ones, any other key closes"
      : "⏎ show, hide  0 usual  Esc back"
    let marked = chosen ?? shown
    let lines = WatchColumn.allCases.enumerated().map { place, column in
      let mark = marked.contains(column) ? (shown.contains(column) ? "x" : "!") : " "
      var line = StyledText("[\(mark)] ")
      line.append(StyledText(column.name, style: .bold).fitted(to: 12))
      line.append(mark == "!" ? "no room on this screen" : column.explanation)
      if line.width > columns { line = line.fitted(to: columns) }
      return place == cursor ? line.fitted(to: columns).styled(TextStyle(reversed: true)) : line
    }
    // The line of the cursor is seen on a small screen, too.
    let room = max(1, rows - 1)
    let first = max(0, min(cursor - room / 2, lines.count - room))
    OverlayPane.draw(
      [StyledText(title, style: .dim)] + lines[first..<min(lines.count, first + room)], on: &frame)
  }
}
