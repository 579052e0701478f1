internal import FleetProgram

/// The widths of the columns of lines that are printed one by one. Each column is as wide as its widest value
/// so far.
struct LineColumns: Sendable {
  private let names: [String]
  private let alignments: [TextAlignment]
  private var widths: [Int]

  /// The maximum width of a column in characters. Vehicle names come from the network and can be arbitrarily
  /// long.
  private static let widest = 48

  /// Creates columns.
  ///
  /// - Parameter columns: the columns with their minimum widths in characters.
  init(_ columns: [(name: String, width: Int, alignment: TextAlignment)]) {
    names = columns.map(\.name)
    alignments = columns.map(\.alignment)
    widths = columns.map(\.width)
  }

  /// Returns the header line.
  /// - Parameter rest: the header of the text after the last column.
  func head(rest: String) -> String { joined(names.map { StyledText($0) }, rest: rest) }

  /// Returns a line, and widens the columns if necessary.
  /// - Parameter rest: the text after the last column.
  mutating func line(_ values: [String], rest: String) -> String {
    let texts = values.map { StyledText($0) }
    for (place, text) in texts.enumerated() {
      widths[place] = max(widths[place], min(text.width, Self.widest))
    }
    return joined(texts, rest: rest)
  }

  private func joined(_ texts: [StyledText], rest: String) -> String {
    let fields = texts.enumerated().map { place, text in
      text.fitted(to: widths[place], alignment: alignments[place]).plain
    }
    return (fields + [StyledText(rest).plain]).joined(separator: "  ")
  }
}
