internal import FleetConsole

/// The columns of lines that go out as they come: each is as wide as the widest value so far, and nothing is held back to find
/// out what is to come.
struct LineColumns: Sendable {
  private let names: [String]
  private let alignments: [TextAlignment]
  private var widths: [Int]

  /// Beyond which a value is cut: names are a vehicle's own words.
  private static let widest = 48

  /// - Parameter columns: with the widths that values usually take.
  init(_ columns: [(name: String, width: Int, alignment: TextAlignment)]) {
    names = columns.map(\.name)
    alignments = columns.map(\.alignment)
    widths = columns.map(\.width)
  }

  /// The names, as a line without its end.
  /// - Parameter rest: the name of what stands behind the columns.
  func head(rest: String) -> String { joined(names.map { StyledText($0) }, rest: rest) }

  /// A line without its end.
  /// - Parameter rest: what stands behind the columns.
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
