internal import CLinux
internal import Glibc

/// How many columns of a terminal a character takes, and whether it may go there at all.
enum DisplayWidth {
  /// 0 for a mark that joins the character before it, 1, or 2 for East Asian and emoji characters; nil for what must
  /// not reach a terminal: control characters, and format characters that reorder or hide text.
  ///
  /// The table is the C library's, by wcwidth(3) in the C.UTF-8 locale.
  static func columns(of scalar: Unicode.Scalar) -> Int? {
    let value = scalar.value
    if value < 0x7F { return value < 0x20 ? nil : 1 }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
      return nil
    case .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    return inUTF8Locale {
      let width = Int(wcwidth(wchar_t(bitPattern: value)))
      return width < 0 ? nil : min(width, 2)
    }
  }

  // Of the thread alone: the process keeps the locale that it was started with.
  private static func inUTF8Locale<Result>(_ body: () -> Result) -> Result {
    guard let locale = unsafe utf8Locale else { return body() }
    let previous = unsafe uselocale(locale)
    defer { unsafe uselocale(previous) }
    return body()
  }

  // Made once and never changed or freed.
  private nonisolated(unsafe) static let utf8Locale = unsafe newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
}
