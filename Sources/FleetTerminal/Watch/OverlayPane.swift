internal import FleetProgram

/// Lines drawn over the screen, with a frame if there is space.
enum OverlayPane {
  /// The width of the text inside a frame in columns.
  private static let framedColumns = 72

  /// Returns whether a frame around this number of lines fits.
  static func isFramed(lines: Int, on size: TerminalSize) -> Bool {
    size.columns >= framedColumns + 4 && size.rows >= lines + 2
  }

  /// Returns the columns and rows available for a text of `wanted` rows: those inside the frame if it fits,
  /// otherwise the whole screen.
  static func room(for wanted: Int, on size: TerminalSize) -> (columns: Int, rows: Int) {
    isFramed(lines: wanted, on: size) ? (framedColumns, wanted) : (size.columns, size.rows)
  }

  /// Draws lines that fit; without a frame they use the whole screen.
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
