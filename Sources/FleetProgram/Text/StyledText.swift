internal import CLinux
internal import Glibc

/// A terminal cell: a character, or the right half of a wide one.
package struct Cell: Hashable, Sendable {
  /// The character with its combining marks; empty in the right half of a wide one.
  package var text: String
  package var style: TextStyle
  /// The width in columns: 1, 2, or 0 for the right half.
  package var width: UInt8

  package init(text: String, style: TextStyle, width: UInt8) {
    self.text = text
    self.style = style
    self.width = width
  }

  package static let blank = Cell(text: " ", style: .plain, width: 1)
}

/// A run of cells: escaped, measured and styled text.
///
/// Vehicle names and other untrusted texts are converted to this type before they are printed; the result
/// contains no terminal control characters.
package struct StyledText: Hashable, Sendable {
  package private(set) var cells: [Cell]

  package init(cells: [Cell] = []) { self.cells = cells }

  /// Creates cells from untrusted text. Unsafe characters become U+FFFD. A character retains at most two
  /// combining marks, so that it cannot cover its neighbours.
  package init(_ text: String, style: TextStyle = .plain) {
    cells = []
    append(text, style: style)
  }

  /// The width in terminal columns.
  package var width: Int { cells.count }

  /// The text without styles.
  package var plain: String { cells.reduce(into: "") { $0 += $1.text } }

  /// Returns the width of a text in terminal columns: `StyledText(text).width`.
  package static func width(of text: String) -> Int {
    isPlainASCII(text) ? text.utf8.count : StyledText(text).width
  }

  private static func isPlainASCII(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }

  package mutating func append(_ text: String, style: TextStyle = .plain) {
    if Self.isPlainASCII(text) {
      cells.reserveCapacity(cells.count + text.utf8.count)
      for scalar in text.unicodeScalars { cells.append(Cell(text: String(scalar), style: style, width: 1)) }
      return
    }
    var marks = 0
    for scalar in text.unicodeScalars {
      switch DisplayWidth.columns(of: scalar) {
      case nil:
        // Zero-width joiners, which are common in emoji, are dropped; other unsafe characters become U+FFFD.
        guard scalar.value != 0x200D else { continue }
        cells.append(Cell(text: "\u{FFFD}", style: style, width: 1))
        marks = 2
      case 0:
        guard marks < 2, !scalar.properties.isVariationSelector, let last = lastCharacter else { continue }
        cells[last].text.unicodeScalars.append(scalar)
        marks += 1
      case 1:
        cells.append(Cell(text: String(scalar), style: style, width: 1))
        marks = 0
      default:
        cells.append(Cell(text: String(scalar), style: style, width: 2))
        cells.append(Cell(text: "", style: style, width: 0))
        marks = 0
      }
    }
  }

  package mutating func append(_ other: StyledText) { cells.append(contentsOf: other.cells) }

  private var lastCharacter: Int? { cells.lastIndex { $0.width > 0 } }
}

/// The alignment of text in a wider column.
package enum TextAlignment: Hashable, Sendable {
  case left
  case right
}

extension StyledText {
  /// Creates the cells of a table row from its columns.
  package init(columns: [(text: StyledText, width: Int, alignment: TextAlignment)]) {
    cells = []
    for (place, column) in columns.enumerated() {
      if place > 0 { append("  ") }
      append(column.text.fitted(to: column.width, alignment: column.alignment))
    }
  }

  /// Returns the text in exactly `width` columns: padded with spaces, or cut with an ellipsis.
  package func fitted(to width: Int, alignment: TextAlignment = .left) -> StyledText {
    guard width > 0 else { return StyledText() }
    if cells.count <= width {
      let fill = [Cell](repeating: .blank, count: width - cells.count)
      return StyledText(cells: alignment == .left ? cells + fill : fill + cells)
    }
    var kept = Array(cells.prefix(width - 1))
    // A wide character without its right half is removed.
    if let last = kept.last, last.width == 2 { kept[kept.count - 1] = .blank }
    kept.append(Cell(text: "…", style: cells[kept.count].style, width: 1))
    return StyledText(cells: kept)
  }

  package func styled(_ style: TextStyle) -> StyledText {
    StyledText(cells: cells.map { Cell(text: $0.text, style: style, width: $0.width) })
  }

  /// Returns the text with or without control sequences for its styles.
  package func rendered(styles: Bool) -> String {
    guard styles else { return plain }
    var text = ""
    var current = TextStyle.plain
    for cell in cells {
      if cell.style != current {
        text += cell.style.selectGraphicRendition
        current = cell.style
      }
      text += cell.text
    }
    if current != .plain { text += TextStyle.plain.selectGraphicRendition }
    return text
  }
}

/// The style of text on a terminal.
package struct TextStyle: Hashable, Sendable {
  /// The standard terminal colours; the user's theme determines their appearance.
  package enum Color: UInt8, Hashable, Sendable {
    case standard = 39
    case red = 31
    case green = 32
    case yellow = 33
    case blue = 34
    case cyan = 36
    case gray = 90
  }

  package var color: Color
  package var isBold: Bool
  package var isDim: Bool
  package var isReversed: Bool

  package init(_ color: Color = .standard, bold: Bool = false, dim: Bool = false, reversed: Bool = false) {
    self.color = color
    isBold = bold
    isDim = dim
    isReversed = reversed
  }

  package static let plain = TextStyle()
  package static let bold = TextStyle(bold: true)
  package static let dim = TextStyle(dim: true)

  /// The style without its colour, for users who set `NO_COLOR`.
  package var withoutColor: TextStyle {
    TextStyle(.standard, bold: isBold, dim: isDim, reversed: isReversed)
  }

  /// The control sequence that selects this style, independent of the previous one.
  package var selectGraphicRendition: String {
    var codes = "0"
    if isBold { codes += ";1" }
    if isDim { codes += ";2" }
    if isReversed { codes += ";7" }
    if color != .standard { codes += ";\(color.rawValue)" }
    return "\u{1B}[\(codes)m"
  }
}

/// The width of characters on a terminal, and whether they are safe.
package enum DisplayWidth {
  /// Returns the width of a character: 0 for a combining mark, 1, or 2 for East Asian and emoji characters.
  /// Nil for unsafe characters: control characters, and format characters that reorder or hide text.
  ///
  /// The table is that of the C library: wcwidth(3) in the C.UTF-8 locale.
  package static func columns(of scalar: Unicode.Scalar) -> Int? {
    let value = scalar.value
    if value < 0x7F { return value < 0x20 ? nil : 1 }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
      return nil
    case .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    return inUTF8Locale {
      let width = Int(wcwidth(wchar_t(truncatingIfNeeded: value)))
      return width < 0 ? nil : min(width, 2)
    }
  }

  // The locale is changed for this thread only, not for the process.
  private static func inUTF8Locale<Result>(_ body: () -> Result) -> Result {
    guard let locale = unsafe utf8Locale else { return body() }
    let previous = unsafe uselocale(locale)
    defer { unsafe uselocale(previous) }
    return body()
  }

  // Created once and never changed or freed.
  private nonisolated(unsafe) static let utf8Locale = unsafe newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
}
