/// The size of a terminal in characters.
struct TerminalSize: Hashable, Sendable {
  var columns: Int
  var rows: Int

  /// Sizes are bounded, so that a terminal that claims to be endless takes no endless memory.
  init(columns: Int, rows: Int) {
    self.columns = max(1, min(columns, 1000))
    self.rows = max(1, min(rows, 500))
  }

  /// What terminals have been since the VT100, for one that does not say.
  static let usual = TerminalSize(columns: 80, rows: 24)
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

/// What to send to a terminal so that it shows one frame where it showed another.
///
/// Only what changed is sent: over a slow line that is the difference between a live table and a slide show. The
/// cursor is moved to each changed run by its absolute place, so a terminal that disagrees about the width of some
/// character spoils one run and not the rest of the line.
enum FrameDifference {
  /// Unchanged cells between two changed ones that cost no more to repeat than to jump over.
  private static let cheaperToRepeat = 4

  /// - Parameters:
  ///   - previous: what the terminal shows; nil when that is not known, and all is drawn anew.
  ///   - usesColor: false leaves colours out, and keeps bold, dim and reverse.
  static func bytes(from previous: Frame?, to next: Frame, usesColor: Bool = true) -> [UInt8] {
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

  /// The columns to draw again, in order, never beginning with the right half of a wide character.
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
