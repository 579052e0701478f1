/// How a piece of text looks on a terminal.
package struct TextStyle: Hashable, Sendable {
  /// The colours that every terminal has, named by what they are told to be; the user's theme decides.
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

  /// The same without its colour, for users who set `NO_COLOR`.
  var withoutColor: TextStyle {
    TextStyle(.standard, bold: isBold, dim: isDim, reversed: isReversed)
  }

  /// The control sequence that selects this style, whatever was selected before.
  var selectGraphicRendition: String {
    var codes = "0"
    if isBold { codes += ";1" }
    if isDim { codes += ";2" }
    if isReversed { codes += ";7" }
    if color != .standard { codes += ";\(color.rawValue)" }
    return "\u{1B}[\(codes)m"
  }
}
