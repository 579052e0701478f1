extension Unicode.Scalar {
  /// Whether it is not shown but acted upon, or hides what it stands beside: control characters, the marks that turn the
  /// direction of text (Unicode Standard Annex #9), separators of lines, and invisible format characters. Text from
  /// elsewhere that goes to a terminal raw must hold none.
  ///
  /// The joiners U+200C and U+200D are not among them: words of some languages, and many emoji, are written with them.
  public var isUnseen: Bool {
    // What there is most of first.
    if value < 0xAD { return value < 0x20 || (0x7F...0x9F).contains(value) }
    if (0x2070..<0xFEFF).contains(value) { return false }
    switch value {
    case 0xAD, 0x61C, 0x180E, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x2064, 0x2066...0x206F,
      0xFEFF, 0xFFF9...0xFFFB, 0x1BCA0...0x1BCA3, 0x1D173...0x1D17A, 0xE0001, 0xE0020...0xE007F:
      return true
    default: return false
    }
  }
}
