import FleetFixtures
import FleetProgram
import FleetTerminal
import TestSupport
import Testing

@Suite struct FrameDifferenceTests {
  private func frame(_ lines: [String], style: TextStyle = .plain, columns: Int = 12) -> Frame {
    var frame = Frame(size: TerminalSize(columns: columns, rows: lines.count))
    for (row, line) in lines.enumerated() { frame.put(StyledText(line, style: style), row: row) }
    return frame
  }

  private func difference(_ old: Frame?, _ new: Frame, color: Bool = true) -> String {
    String(decoding: FrameDifference.bytes(from: old, to: new, usesColor: color), as: UTF8.self)
      .replacing("\u{1B}", with: "^")
  }

  struct Change: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var old: [String]
    var new: [String]
    var bytes: String
  }

  static let changes = [
    Change(testDescription: "nothing", old: ["abc", "def"], new: ["abc", "def"], bytes: ""),
    Change(
      testDescription: "one character", old: ["abc", "def"], new: ["abc", "dxf"], bytes: "^[2;2H^[0mx"),
    Change(
      testDescription: "near changes are one run", old: ["abcdef"], new: ["xbcdxf"],
      bytes: "^[1;1H^[0mxbcdx"),
    Change(
      testDescription: "far changes are two", old: ["abcdefghij"], new: ["xbcdefghix"],
      bytes: "^[1;1H^[0mx^[1;10Hx"),
    Change(testDescription: "erasing writes blanks", old: ["abc"], new: ["a"], bytes: "^[1;2H^[0m  "),
    Change(testDescription: "wide over narrow", old: ["abc"], new: ["漢c"], bytes: "^[1;1H^[0m漢"),
    Change(testDescription: "narrow over wide", old: ["漢c"], new: ["abc"], bytes: "^[1;1H^[0mab"),
    Change(testDescription: "wide to wide", old: ["漢c"], new: ["字c"], bytes: "^[1;1H^[0m字"),
    Change(
      testDescription: "half a wide character is replaced whole", old: ["a漢c"], new: ["漢bc"],
      bytes: "^[1;1H^[0m漢b"),
  ]

  @Test(arguments: changes) func sendsWhatChanged(_ change: Change) {
    #expect(difference(frame(change.old), frame(change.new)) == change.bytes)
  }

  @Test func anUnknownScreenIsDrawnWhole() {
    #expect(difference(nil, frame(["ab", ""])) == "^[0m^[2J^[1;1Hab")
    let wider = frame(["ab"], columns: 20)
    #expect(difference(frame(["ab"]), wider) == "^[0m^[2J^[1;1Hab")
  }

  @Test func stylesChangeOnlyWhereTheyDo() {
    var new = frame(["", ""])
    new.put(StyledText("ab", style: TextStyle(.green)), row: 0)
    new.put(StyledText("cd", style: TextStyle(.green)), row: 1)
    #expect(difference(frame(["", ""]), new) == "^[1;1H^[0;32mab^[2;1Hcd^[0m")
    #expect(difference(frame(["", ""]), new, color: false) == "^[1;1H^[0mab^[2;1Hcd")
  }

  /// Applied to a model of the terminal with the old frame, the difference results in the new frame.
  @Test func replayedDifferencesGiveTheNextFrame() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SplitMix(seed: seed)
    let alphabet = ["a", "b", " ", "漢", "🚚", "é", "…"]
    var shown: Frame?
    var terminal = ScreenModel(columns: 30, rows: 6)
    for _ in 0..<300 {
      var next = shown ?? Frame(size: TerminalSize(columns: 30, rows: 6))
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let text = (0..<Int.random(in: 1...12, using: &generator)).map { _ in
          alphabet.randomElement(using: &generator) ?? ""
        }.joined()
        var line = Frame(size: TerminalSize(columns: 30, rows: 1))
        line.put(StyledText(text), row: 0, column: Int.random(in: 0..<30, using: &generator))
        next.put(StyledText(cells: Array(line[row: 0])), row: Int.random(in: 0..<6, using: &generator))
      }
      terminal.receive(FrameDifference.bytes(from: shown, to: next))
      #expect(terminal.lines == next.lines)
      shown = next
    }
  }
}

/// The functions of a terminal that the renderer uses: cursor positions, clearing, text of one and two columns.
private struct ScreenModel {
  let columns: Int
  var rows: [[String]]
  var row = 0
  var column = 0

  init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = Array(repeating: Array(repeating: " ", count: columns), count: rows)
  }

  var lines: [String] {
    rows.map { row in
      var line = row.joined()
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  mutating func receive(_ bytes: [UInt8]) {
    var scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)[...]
    while let scalar = scalars.popFirst() {
      guard scalar == "\u{1B}" else {
        write(scalar)
        continue
      }
      _ = scalars.popFirst()
      var parameters = ""
      while let next = scalars.popFirst() {
        if ("@"..."~").contains(next) {
          control(next, parameters)
          break
        }
        parameters.unicodeScalars.append(next)
      }
    }
  }

  private mutating func control(_ final: Unicode.Scalar, _ parameters: String) {
    let numbers = parameters.split(separator: ";").compactMap { Int($0) }
    if final == "H", numbers.count == 2 { (row, column) = (numbers[0] - 1, numbers[1] - 1) }
    if final == "J" { rows = rows.map { $0.map { _ in " " } } }
  }

  private mutating func write(_ scalar: Unicode.Scalar) {
    let width = DisplayWidth.columns(of: scalar) ?? 1
    guard width > 0, column + width <= columns else { return }
    // Overwriting one half of a wide character clears the other half.
    if rows[row][column].isEmpty, column > 0 { rows[row][column - 1] = " " }
    rows[row][column] = String(scalar)
    if width == 2 { rows[row][column + 1] = "" }
    column += width
    if column < columns, rows[row][column].isEmpty { rows[row][column] = " " }
  }
}
