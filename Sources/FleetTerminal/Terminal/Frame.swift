package import FleetProgram

/// A complete screen of cells.
package struct Frame: Hashable, Sendable {
  package let size: TerminalSize
  package private(set) var cells: [Cell]

  package init(size: TerminalSize) {
    self.size = size
    cells = Array(repeating: .blank, count: size.columns * size.rows)
  }

  /// Puts text on the screen, starting at a cell and cut at the right edge. Text that starts outside the
  /// screen is ignored.
  package mutating func put(_ text: StyledText, row: Int, column: Int = 0) {
    guard row >= 0, row < size.rows, column >= 0, column < size.columns else { return }
    let room = size.columns - column
    let fitting = text.width > room ? text.fitted(to: room) : text
    let start = row * size.columns + column
    for (offset, cell) in fitting.cells.enumerated() { cells[start + offset] = cell }
  }

  package subscript(row row: Int) -> ArraySlice<Cell> {
    cells[(row * size.columns)..<((row + 1) * size.columns)]
  }

  /// The screen as lines of text without trailing spaces, for tests and documents.
  package var lines: [String] {
    (0..<size.rows).map { row in
      var line = self[row: row].reduce(into: "") { $0 += $1.text }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}

/// The bytes that update a terminal from one frame to another.
///
/// Only changes are sent, which keeps a live table responsive over a slow line. The cursor is positioned
/// absolutely for each changed run, so that a terminal with another character width only garbles one run
/// instead of the rest of the line.
package enum FrameDifference {
  /// The maximum number of unchanged cells between two changes that are sent again, because moving the cursor
  /// over them would need more bytes.
  private static let cheaperToRepeat = 4

  /// Returns the update.
  ///
  /// - Parameters:
  ///   - previous: the frame on the terminal; nil if unknown, to redraw everything.
  ///   - usesColor: false to omit colours; bold, dim and reverse remain.
  package static func bytes(from previous: Frame?, to next: Frame, usesColor: Bool = true) -> [UInt8] {
    var output = Output(usesColor: usesColor)
    let known = previous.flatMap { $0.size == next.size ? $0 : nil }
    let base = known ?? Frame(size: next.size)
    if known == nil { output.clear() }
    for row in 0..<next.size.rows {
      let old = base[row: row]
      let new = next[row: row]
      if old == new { continue }
      for run in changedRuns(from: Array(old), to: Array(new)) {
        output.move(row: row, column: run.lowerBound)
        for cell in new[(new.startIndex + run.lowerBound)..<(new.startIndex + run.upperBound)] {
          output.write(cell)
        }
      }
    }
    return output.finished()
  }

  /// Returns the columns to redraw, in order, never starting with the right half of a wide character.
  static func changedRuns(from old: [Cell], to new: [Cell]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    for column in new.indices where column >= old.count || old[column] != new[column] {
      var start = column
      while start > 0, new[start].width == 0 { start -= 1 }
      if let last = runs.last, start - last.upperBound <= cheaperToRepeat {
        runs[runs.count - 1] = last.lowerBound..<(column + 1)
      } else {
        runs.append(start..<(column + 1))
      }
    }
    return runs
  }

  private struct Output {
    let usesColor: Bool
    private var bytes: [UInt8] = []
    private var style: TextStyle?

    init(usesColor: Bool) { self.usesColor = usesColor }

    mutating func clear() {
      bytes += Array("\u{1B}[0m\u{1B}[2J".utf8)
      style = .plain
    }

    mutating func move(row: Int, column: Int) {
      bytes += Array("\u{1B}[\(row + 1);\(column + 1)H".utf8)
    }

    mutating func write(_ cell: Cell) {
      let wanted = usesColor ? cell.style : cell.style.withoutColor
      if wanted != style {
        bytes += Array(wanted.selectGraphicRendition.utf8)
        style = wanted
      }
      bytes += Array(cell.text.utf8)
    }

    mutating func finished() -> [UInt8] {
      if let style, style != .plain { bytes += Array(TextStyle.plain.selectGraphicRendition.utf8) }
      return bytes
    }
  }
}
