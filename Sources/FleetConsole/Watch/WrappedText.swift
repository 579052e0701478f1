/// Text in lines of a width that may change from row to row, each part of it whole.
struct WrappedText {
  private(set) var lines: [StyledText] = []
  /// Columns of a row.
  private let width: (Int) -> Int

  /// - Parameter width: how many columns a row has, counted from 0.
  init(width: @escaping (Int) -> Int) { self.width = width }

  /// Begins a line with a label, and puts as many of the parts on it, and on each line that follows, as fit.
  ///
  /// - Parameter indent: columns that the label takes, and what stands below it is moved by.
  mutating func append(_ label: StyledText, indent: Int, parts: [StyledText]) {
    var line = indent > 0 ? label.fitted(to: indent) : label
    var isEmpty = indent > 0 || label.width == 0
    for part in parts {
      // A piece may come to stand on the next row, which may be shorter.
      for word in split(part, room: min(width(lines.count), width(lines.count + 1)) - indent) {
        let gap = isEmpty ? 0 : 2
        if !isEmpty, line.width + gap + word.width > width(lines.count) {
          lines.append(line)
          line = StyledText().fitted(to: indent)
          line.append(word)
        } else {
          if !isEmpty { line.append("  ") }
          line.append(word)
        }
        isEmpty = false
      }
    }
    lines.append(line)
  }

  /// A part that is wider than a whole line, in pieces: at its blanks, or anywhere.
  private func split(_ part: StyledText, room: Int) -> [StyledText] {
    let room = max(2, room)
    guard part.width > room else { return [part] }
    var pieces: [StyledText] = []
    var rest = part.cells[...]
    while rest.count > room {
      let blank = rest.prefix(room + 1).lastIndex { $0.text == " " }
      var end = blank.flatMap { $0 > rest.startIndex ? $0 : nil } ?? rest.startIndex + room
      // Both halves of a wide character stay together.
      if rest[end].width == 0, end - 1 > rest.startIndex { end -= 1 }
      pieces.append(StyledText(cells: Array(rest[..<end])))
      rest = rest[end...].drop { $0.text == " " }
    }
    if !rest.isEmpty { pieces.append(StyledText(cells: Array(rest))) }
    return pieces
  }
}
