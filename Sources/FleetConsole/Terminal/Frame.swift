/// The size of a terminal in characters.
package struct TerminalSize: Hashable, Sendable {
  package var columns: Int
  package var rows: Int

  /// Sizes are bounded, so that a terminal that claims to be endless takes no endless memory.
  package init(columns: Int, rows: Int) {
    self.columns = max(1, min(columns, 1000))
    self.rows = max(1, min(rows, 500))
  }

  /// What terminals have been since the VT100, for one that does not say.
  package static let usual = TerminalSize(columns: 80, rows: 24)
}

/// A whole screen: what each place on it shows.
struct Frame: Hashable, Sendable {
  let size: TerminalSize
  private(set) var cells: [Cell]

  init(size: TerminalSize) {
    self.size = size
    cells = Array(repeating: .blank, count: size.columns * size.rows)
  }

  /// Writes text from a place on, cut at the right edge. Places outside the screen are left out.
  mutating func put(_ text: StyledText, row: Int, column: Int = 0) {
    guard row >= 0, row < size.rows, column >= 0, column < size.columns else { return }
    let room = size.columns - column
    let fitting = text.width > room ? text.fitted(to: room) : text
    let start = row * size.columns + column
    for (offset, cell) in fitting.cells.enumerated() { cells[start + offset] = cell }
  }

  subscript(row row: Int) -> ArraySlice<Cell> {
    cells[(row * size.columns)..<((row + 1) * size.columns)]
  }

  /// The screen as lines of text without trailing blanks: for tests and for documents.
  var lines: [String] {
    (0..<size.rows).map { row in
      var line = self[row: row].reduce(into: "") { $0 += $1.text }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
