/// Lines over the screen, in a frame where there is room for one.
enum OverlayPane {
  /// Columns of the text inside of a frame.
  private static let framedColumns = 72

  /// Whether a frame fits around so many lines.
  static func isFramed(lines: Int, on size: TerminalSize) -> Bool {
    size.columns >= framedColumns + 4 && size.rows >= lines + 2
  }

  /// Columns and rows that there are for lines, where `wanted` rows would do.
  static func room(for wanted: Int, on size: TerminalSize) -> (columns: Int, rows: Int) {
    isFramed(lines: wanted, on: size) ? (framedColumns, wanted) : (size.columns, size.rows)
  }

  /// Lines that are no more and no wider than their room; without a frame they take the whole screen.
  static func draw(_ lines: [StyledText], on frame: inout Frame) {
    let size = frame.size
    guard isFramed(lines: lines.count, on: size) else {
      for row in 0..<size.rows {
        let line = row < lines.count ? lines[row] : StyledText()
        frame.put(line.fitted(to: size.columns), row: row)
      }
      return
    }
    let columns = framedColumns
    let (top, left) = ((size.rows - lines.count - 2) / 2, (size.columns - columns - 4) / 2)
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
}
